#!/usr/bin/env bats
# The lease while the job runs: refreshed, or the job is stopped before it can end.
load ../lib/rlock

@test "a job that outlives its lease keeps it" {
  local round token
  hold holder -k "$K" -t 4s --grace 100ms
  token=$(redis get "$K")
  for round in {1..4}; do
    wait_refreshed "$K"
  done
  assert_equal "$(redis get "$K")" "$token"
  let_go holder
  assert_success
  assert_silent
}

@test "a refresh comes at a third of the lease" {
  local count span
  own_server
  hold holder -k "$K" -t 3s --grace 100ms
  watch_wire "$T/wire"
  sleep 3.9 # the length of the observation
  wire_mark "$T/wire" end
  end_watching
  let_go holder
  # One a second; on a busy machine the first of them may be a second late, and then the next ones are nearer.
  read -r count span < <(awk '/\[0 unix.*"EVALSHA"/ { last = $1; first = n++ ? first : last } END {
    printf "%d %d\n", n, (last - first) * 1000 }' "$T/wire")
  assert_less 2 "$count"
  assert_less "$(((count - 2) * 1000))" "$span"
}

@test "a lost key: the job is stopped, exit 76" {
  start holder -k "$K" -t 6s --grace 3s -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 0
  wait_until says "$T/job.log" started
  redis del "$K"
  wait_until says "$T/job.log" TERM
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K':"
  assert_stderr_line 'stopping the job'
}

@test "a stolen key: the job is stopped, exit 76, the thief keeps the key" {
  hold holder -k "$K" -t 3s
  redis set "$K" thief px 60000
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K':"
  assert_equal "$(redis get "$K")" thief
}

@test "a lost lock stops the whole tree, orphans and daemons too" {
  start holder -k "$K" -t 3s -- bash -c '
    setsid sleep 300 &
    (setsid sh -c "echo daemon; exec sleep 300" &)
    echo started; wait'
  wait_until says "$T/holder.out" daemon
  wait_until says "$T/holder.out" started
  redis del "$K"
  finish holder
  assert_equal "$status" 76
  assert_equal "$(marked_processes)" ''
}

@test "--on-lost warn: the job runs on and its code is the exit code" {
  start holder -k "$K" -t 3s --on-lost warn -- "$LIB/until-file" "$T/holder.go" 7
  wait_until says "$T/holder.out" started
  redis set "$K" thief px 60000
  wait_until says "$T/holder.err" "lost the lock '$K':"
  let_go holder
  assert_equal "$status" 7
  assert_stderr_line 'the job runs on'
  assert_equal "$(redis get "$K")" thief
}

@test "a holder stopped with SIGSTOP past its lease kills its job when it goes on" {
  start holder -k "$K" -t 3s -- bash -c 'echo started; while :; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  kill -STOP "${PIDS[holder]}"
  wait_free "$K"
  kill -CONT "${PIDS[holder]}"
  finish holder
  assert_equal "$status" 76
  assert_equal "$(marked_processes)" ''
}

@test "kill -9 of rlock does not leave a job running past the lease" {
  hold_stubborn holder -t 3s
  kill -KILL "${PIDS[holder]}"
  wait_free "$K"
  assert_equal "$(marked_processes)" ''
}
