#!/usr/bin/env bats
# The library in a process that has no /proc; the program refuses to watch over a job there.
load ../lib/rlock
load ../lib/namespaces

# run_without_proc UMASK: a search for leaks needs /proc, and so does a sanitizer to be told so.
run_without_proc() {
  local prepared=true
  ! sanitized || prepared='mkdir /proc/self && printf "ASAN_OPTIONS=detect_leaks=0\0" >/proc/self/environ'
  own_mounts
  RLOCK_SERVER="file:$T/locks" run --separate-stderr "${INSIDE[@]}" \
    sh -c "mount -t tmpfs none /proc && $prepared && umask $1 && exec \"\$@\"" sh \
    "${RLOCK_BIN%/*}/library-run" -k "$K" -- /bin/echo ran
}

@test "it holds a lock of this host" {
  run_without_proc 022
  assert_output ran
}

@test "a umask that takes the user's own rights is an error, and leaves no directory behind" {
  run_without_proc 0777
  assert_equal "$status" 69
  assert_stderr_line "$T/locks"
  [[ ! -e $T/locks ]]
}
