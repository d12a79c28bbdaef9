#!/usr/bin/env bats
# A crash of rlock or of its guardian leaves no file with what is in its memory; the job's is its own matter.
load lib/rlock

# core_limit PID: soft and hard, in bytes
core_limit() {
  sed -n 's/^Max core file size *//p' "/proc/$1/limits" | awk '{ print $1, $2 }'
}

# under SOFT: a job that says its limit
under() {
  local soft=$1
  shift
  run bash -c 'ulimit -Sc "$1" && shift && exec "$@"' - "$soft" "$RLOCK_BIN" "$@" -k "$K" -- bash -c 'ulimit -Sc; ulimit -Hc'
  assert_success
  assert_line --index 0 "$soft"
}

# A signal that somebody sends kills neither: only a fault of their own would, so the limit is what can be looked at.
@test "neither rlock nor its guardian leaves a core file, whatever the limit was" {
  ulimit -Sc "$(ulimit -Hc)"
  hold holder -k "$K"
  local pid
  for pid in "${PIDS[holder]}" "$(guardian_of holder)"; do
    run core_limit "$pid"
    [[ $output == '1 '* || $output == '0 '* ]] || fail "$output"
  done
  let_go holder
}

@test "the job has the limit that it would have without rlock" {
  local hard
  hard=$(ulimit -Hc)
  under 0
  if [[ $hard != 0 ]]; then under 1000; fi
  assert_line --index 1 "$hard"
  under "$hard"
  assert_line --index 1 "$hard"
}

@test "so has the job of the program that loads shared libraries" {
  is_static || return 0
  # What TLS takes over comes to an end without a server, so its own job is asked for.
  RLOCK_BIN=$BUILD/with-libraries/rlock under "$(ulimit -Hc)"
}
