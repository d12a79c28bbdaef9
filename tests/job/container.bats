#!/usr/bin/env bats
# rlock as PID 1, as in a container: forwards, reaps, exits.
load ../lib/rlock
load ../lib/namespaces

@test "PID 1 runs the job and exits with its code" {
  own_pids
  run "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" -- sh -c 'ps -o comm= -p 1; exit 7'
  assert_equal "$status" 7
  assert_output rlock
  free "$K"
}

@test "PID 1 forwards TERM, and the code is 143" {
  own_pids
  launch holder "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 6
  wait_until says "$T/job.log" started
  kill -TERM "$(first_child "${PIDS[holder]}")"
  wait_until says "$T/job.log" TERM
  kill -USR1 "$(first_child "${PIDS[holder]}")"
  wait_until says "$T/job.log" USR1
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 6
  launch holder "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  kill -TERM "$(first_child "${PIDS[holder]}")"
  finish holder
  assert_equal "$status" 143
  free "$K"
}

@test "PID 1 that waits leaves the queue on TERM" {
  own_pids
  redis set "$K" other px 60000
  launch waiter "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" -w 60s -- true
  wait_queued "$K" 1
  kill -TERM "$(first_child "${PIDS[waiter]}")"
  finish waiter
  assert_equal "$status" 143
  queued "$K" 0
}

@test "PID 1 reaps orphans" {
  own_pids
  launch holder "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" -- bash -c '
    for i in 1 2 3; do (sh -c "exit 0" &); done
    zombies() { grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null; }
    while zombies >/dev/null; do sleep 0.02; done; echo clean'
  finish holder
  assert_success
  assert_output clean
}

@test "a token made by PID 1 still names host and label" {
  own_pids
  run "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" --label box -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --regexp '@[^:]+:1/box#[0-9a-f]{40}$'
}

# The job must not begin; what is run as PID 1 of the namespace first takes /proc away if its argument says so.
begins_nothing() {
  # shellcheck disable=SC2016
  run --separate-stderr "$@" bash -c '[[ $1 != none ]] || mount -t tmpfs none /proc; exec "$RLOCK_BIN" -k "$K" -- touch "$T/ran"' - "$proc"
  assert_equal "$status" 71
  [[ $stderr == "rlock: cannot watch over a job"*"/proc"* ]] || fail "$stderr"
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "without /proc, or with that of another PID namespace, nothing is begun: 71" {
  own_pids
  local word foreign=()
  for word in "${INSIDE[@]}"; do
    [[ $word == --mount-proc ]] || foreign+=("$word")
  done
  # A sanitizer does not begin without /proc either, by itself.
  grep -qaE '__(asan|tsan)_init' "$RLOCK_BIN" || proc=none begins_nothing "${INSIDE[@]}"
  proc=foreign begins_nothing "${foreign[@]}"
}
