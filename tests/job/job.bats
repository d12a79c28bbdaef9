#!/usr/bin/env bats
# Fidelity: the job finds everything as it would without rlock.
load ../lib/rlock
load ../lib/namespaces

# same_with_lock [PREFIX...] -- COMMAND...: COMMAND prints the same with and without rlock around it.
same_with_lock() {
  local prefix=()
  while [[ $1 != -- ]]; do
    prefix+=("$1")
    shift
  done
  shift
  "${prefix[@]}" "$@" >"$T/out" 3>&-
  mv "$T/out" "$T/without"
  "${prefix[@]}" "$RLOCK_BIN" -k "$K" -- "$@" >"$T/out" 3>&-
  mv "$T/out" "$T/with"
  [[ -s $T/without ]]
  diff "$T/without" "$T/with"
}

SIGNAL_STATE=(grep -E '^(Sig|Shd)(Blk|Ign|Cgt|Pnd)' /proc/self/status)

@test "stdin arrives untouched, stdout and stderr are the job's alone" {
  head -c 300000 /dev/urandom >"$T/input"
  rlock -k "$K" -- sh -c 'cat; echo problem >&2' <"$T/input" >"$T/output" 2>"$T/errors"
  cmp "$T/input" "$T/output"
  assert_equal "$(<"$T/errors")" problem
}

@test "stdin can be a pipe, a closed descriptor or nothing" {
  run bash -c 'echo piped | "$RLOCK_BIN" -k "$K" -- cat'
  assert_output piped
  run bash -c '"$RLOCK_BIN" -k "$K" -- sh -c "read x || echo none" </dev/null'
  assert_output none
  same_with_lock bash -c 'exec "$@" <&-' _ -- sh -c 'ls /proc/$$/fd; [ -e /proc/$$/fd/0 ] || echo closed'
}

@test "closed standard descriptors stay closed, and the lock's connection does not take their place" {
  bash -c 'exec "$RLOCK_BIN" -k "$K" -- sh -c "ls /proc/\$\$/fd >\"$T/fds\"" <&- >&- 2>&-' || true
  bash -c 'exec sh -c "ls /proc/\$\$/fd >\"$T/fds-without\"" <&- >&- 2>&-' || true
  diff "$T/fds-without" "$T/fds"
}

@test "descriptors are inherited, and none is added" {
  exec 7</dev/null 8>"$T/eight" 9<>"$T/nine"
  same_with_lock -- bash -c 'for fd in /proc/$$/fd/*; do printf "%s " "${fd##*/}"; readlink "$fd" || echo; done'
  run grep -c . "$T/with"
  ((output >= 6))
  exec 7<&- 8>&- 9>&-
}

@test "signal mask and dispositions are the defaults when they were" {
  same_with_lock env --default-signal -- "${SIGNAL_STATE[@]}"
}

@test "ignored signals are ignored in the job: HUP, PIPE, CHLD, INT, TERM, TSTP, USR1, WINCH" {
  local name
  for name in HUP PIPE CHLD INT TERM TSTP TTOU USR1 WINCH HUP,PIPE,CHLD; do
    same_with_lock env --default-signal --ignore-signal="$name" -- "${SIGNAL_STATE[@]}"
  done
}

@test "blocked signals are blocked in the job" {
  local name
  for name in USR1 TERM CHLD PIPE INT,HUP,WINCH; do
    same_with_lock env --default-signal --block-signal="$name" -- "${SIGNAL_STATE[@]}"
  done
}

@test "every signal, real-time ones too, can be ignored or blocked before" {
  # a sanitizer takes some for itself
  local off=handle_segv=0:handle_sigbus=0:handle_sigfpe=0
  export ASAN_OPTIONS=${ASAN_OPTIONS-}:$off UBSAN_OPTIONS=${UBSAN_OPTIONS-}:$off TSAN_OPTIONS=${TSAN_OPTIONS-}:$off
  same_with_lock env --ignore-signal -- "${SIGNAL_STATE[@]}"
  same_with_lock env --default-signal --block-signal -- "${SIGNAL_STATE[@]}"
}

@test "the environment is the same but for RLOCK_*" {
  local name=$'od\xffd'
  same_with_lock env "$name=value" EMPTY= 'MULTI=a
b' RLOCK_MINE=x -- sh -c 'tr "\0" "\n" <"/proc/$$/environ" | grep -av -e ^RLOCK_ -e ^_= | sort'
  run env RLOCK_MINE=x "$RLOCK_BIN" -q -k "$K" -- sh -c 'echo "$RLOCK_MINE"'
  assert_output x
}

@test "directory, umask, limits, priority and terminal group are the same" {
  mkdir "$T/here"
  cd "$T/here"
  umask 0137
  ulimit -n 100
  ulimit -c 0
  same_with_lock nice -n 3 -- sh -c 'pwd; umask; ulimit -a; nice; cut -d" " -f5,6,7,8 "/proc/$$/stat"'
}

@test "the job is in rlock's session and process group, and its parent's parent is rlock" {
  hold holder -k "$K"
  assert_equal "$(ps -o sid= -o pgid= -p "$(job_of holder)")" "$(ps -o sid= -o pgid= -p "${PIDS[holder]}")"
  assert_equal "$(ps -o ppid= -p "$(guardian_of holder)" | tr -d ' ')" "${PIDS[holder]}"
  let_go holder
}

@test "oom score, scheduling, no_new_privs and dumpable state are the same" {
  same_with_lock bash -c 'exec choom -n 300 -- "$@"' _ -- sh -c 'cat "/proc/$$/oom_score_adj" "/proc/$$/timerslack_ns" 2>/dev/null; grep -E "^(NoNewPrivs|Seccomp|Cpus_allowed|THP_enabled):" "/proc/$$/status"'
}

@test "no parent-death signal or subreaper state surprises the job's children" {
  # A daemon of the job that outlives it belongs to init afterwards, as without rlock.
  rlock -k "$K" -- sh -c '(setsid "$LIB/until-file" "$T/daemon.go" >"$T/daemon.out" 2>&1 3>&- & echo $! >"$T/daemon.pid")'
  wait_until says "$T/daemon.out" started
  process_alive "$(<"$T/daemon.pid")"
  touch "$T/daemon.go"
  wait_until gone "$(<"$T/daemon.pid")"
}

@test "rlock adds nothing to stdout or stderr of a job that succeeds" {
  attempt -k "$K" -- true
  assert_success
  assert_output ''
  assert_silent
}

@test "the sockets and the watchdog of a service that is rlock's are the job's: LISTEN_PID and WATCHDOG_PID name it" {
  # shellcheck disable=SC2016
  launch holder sh -c 'LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$RLOCK_BIN" -k "$K" -- \
    "$RLOCK_BIN" -k "$K-2" -- sh -c "echo \$\$ \$LISTEN_PID \$WATCHDOG_PID \$LISTEN_FDS"'
  finish holder
  assert_success
  assert_output --regexp '^([0-9]+) \1 \1 1$'
  launch holder env LISTEN_PID=1 "$RLOCK_BIN" -k "$K" -- sh -c 'echo "$LISTEN_PID"'
  finish holder
  assert_output 1
}

@test "a closed standard descriptor and no /dev/null in its place: 71, before the lock" {
  local closed
  own_mounts
  for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    status=0
    # shellcheck disable=SC2016
    "${INSIDE[@]}" bash -c 'mount -t tmpfs none /dev && eval "exec \"\$RLOCK_BIN\" -k \"\$K\" -- touch \"\$T/ran\" $1"' \
      bash "$closed" 2>"$T/err" 3>&- || status=$?
    assert_equal "$status" 71
    [[ $closed == *2\>* ]] || assert_equal "$(<"$T/err")" \
      "rlock: descriptor $([[ $closed == '<'* ]] && echo 0 || echo 1) is closed, and opening /dev/null in its place: No such file or directory"
    [[ ! -e $T/ran ]]
    [[ $(redis exists "$(companion "$K" fence)") == 0 ]]
  done
  # With all three open it is not wanted.
  # shellcheck disable=SC2016
  "${INSIDE[@]}" bash -c 'mount -t tmpfs none /dev && exec "$RLOCK_BIN" -k "$K" -- touch "$T/ran"' </dev/null 3>&-
  [[ -e $T/ran ]]
}
