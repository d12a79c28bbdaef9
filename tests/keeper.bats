#!/usr/bin/env bats
# The lease while the job runs: refreshed, or the job is stopped before it can end.
load lib/rlock

# hold_stubborn NAME ARG...: a job that ignores TERM and writes the time (µs) into $T/beat all the while.
hold_stubborn() {
  local name=$1
  shift
  start "$name" -k "$K" "$@" -- bash -c 'trap "" TERM; exec 9<> <(:)
    while :; do echo "${EPOCHREALTIME/[.,]/}" >>"$T/beat"; read -rt 0.005 -u 9; done'
  wait_until says "$T/beat" 1
}

last_beat() {
  tail -n 2 "$T/beat" | head -n 1 # the last line may be cut short
}

@test "a job that outlives its lease keeps it" {
  local expiry round token
  hold holder -k "$K" -t 300ms
  token=$(redis get "$K")
  for round in {1..6}; do
    wait_refreshed "$K"
  done
  assert_equal "$(redis get "$K")" "$token"
  let_go holder
  assert_success
  assert_silent
}

@test "a refresh comes at a third of the lease" {
  own_server
  hold holder -k "$K" -t 900ms
  watch_wire "$T/wire"
  sleep 1.9 # the length of the observation
  wire_mark "$T/wire" end
  end_watching
  let_go holder
  # 6 refreshes in 1.9 s; half of them may be late on a busy machine, but there are no more than 7
  run grep -cE '^[0-9.]+ \[0 unix.*"EVALSHA"' "$T/wire"
  assert_less 2 "$output"
  assert_less "$output" 9
}

@test "a lost key: the job is stopped, exit 76" {
  start holder -k "$K" -t 600ms -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 0
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
  hold holder -k "$K" -t 600ms
  redis set "$K" thief px 60000
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K':"
  assert_equal "$(redis get "$K")" thief
}

@test "a lost lock stops the whole tree, orphans and daemons too" {
  start holder -k "$K" -t 600ms -- bash -c '
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
  start holder -k "$K" -t 600ms --on-lost warn -- "$LIB/until-file" "$T/holder.go" 7
  wait_until says "$T/holder.out" started
  redis set "$K" thief px 60000
  wait_until says "$T/holder.err" "lost the lock '$K':"
  let_go holder
  assert_equal "$status" 7
  assert_stderr_line 'the job runs on'
  assert_equal "$(redis get "$K")" thief
}

@test "a silent server: a job that ignores TERM is gone before the lease ends" {
  local lease_end
  own_server
  hold_stubborn holder -t 1500ms --grace 300ms
  # Right after a refresh the next one is 500 ms away: time enough to read the lease's end and stop the server.
  wait_refreshed "$K"
  lease_end=$(redis pexpiretime "$K")
  pause_redis "$SERVER"
  finish holder
  assert_equal "$status" 76
  assert_less "$(now_ms)" $((lease_end + 3000))
  assert_less $(($(last_beat) / 1000)) "$lease_end"
  assert_equal "$(marked_processes)" ''
  resume_redis "$SERVER"
}

@test "a network that forwards nothing: the same, measured at the server" {
  local lease_end
  own_server
  start_proxy
  hold_stubborn holder -t 1200ms --grace 200ms
  proxy stall
  finish holder
  assert_equal "$status" 76
  lease_end=$(redis pexpiretime "$K") # nothing reached the server since; 200 ms are left at most
  if ((lease_end > 0)); then
    assert_less $(($(last_beat) / 1000)) "$lease_end"
  fi
  [[ -z $(redis get "$K") || $lease_end -gt 0 ]]
  stop_proxy
}

@test "a job that heeds TERM has its grace before the lease ends" {
  own_server
  start holder -k "$K" -t 1500ms --grace 500ms -- bash -c '
    trap "echo got TERM; echo cleaned up; exit 0" TERM; echo started; while :; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  pause_redis "$SERVER"
  finish holder
  resume_redis "$SERVER"
  assert_equal "$status" 76
  assert_line 'cleaned up'
}

@test "a short stall is survived" {
  own_server
  start_proxy
  hold holder -k "$K" -t 3s
  proxy stall
  wait_until says "$T/proxy.log" 'request' # at least the grant's; then one that is held back
  wait_refresh_is_held_back
  proxy pass
  wait_refreshed "$K"
  let_go holder
  assert_success
  stop_proxy
}

wait_refresh_is_held_back() {
  local before
  before=$(grep -c '^request .*EVALSHA' "$T/proxy.log")
  wait_until more_evals_than "$before"
}

more_evals_than() {
  local before=$1
  (($(grep -c '^request .*EVAL' "$T/proxy.log") > before))
}

@test "a refresh whose answer is lost is tried again" {
  local fault
  own_server
  start_proxy
  hold holder -k "$K" -t 1500ms
  for fault in swallow-reply drop-reply drop-request; do
    proxy "$fault" EVAL
    wait_until struck
    wait_refreshed "$K"
    wait_refreshed "$K"
  done
  let_go holder
  assert_success
  stop_proxy
}

# The fault that was switched on last has happened.
struck() {
  sed -n '/^mode/h;/^mode/!H;${x;p}' "$T/proxy.log" | grep -qE '^(swallowed|dropped) '
}

@test "reset connections are survived" {
  own_server
  start_proxy
  hold holder -k "$K" -t 900ms
  proxy reset
  wait_refreshed "$K"
  proxy reset
  wait_refreshed "$K"
  wait_refreshed "$K"
  let_go holder
  assert_success
  stop_proxy
}

@test "a restart of the server with its data is survived" {
  own_server --appendonly yes --appendfsync always
  hold holder -k "$K" -t 5s
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  wait_refreshed "$K"
  let_go holder
  assert_success
}

@test "a restart of the server without its data is a lost lock" {
  own_server
  hold holder -k "$K" -t 2s
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  finish holder
  assert_equal "$status" 76
}

@test "when the server is silent at the end, the job's code wins within bounds" {
  local before
  own_server
  start holder -k "$K" -t 10s -- "$LIB/until-file" "$T/holder.go" 4
  wait_until says "$T/holder.out" started
  pause_redis "$SERVER"
  before=$(now_ms)
  let_go holder
  assert_equal "$status" 4
  assert_less $(($(now_ms) - before)) 15000
  [[ $stderr == 'rlock: '*release* ]]
  resume_redis "$SERVER"
}

@test "a holder stopped with SIGSTOP past its lease kills its job when it goes on" {
  start holder -k "$K" -t 400ms -- bash -c 'echo started; while :; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  kill -STOP "${PIDS[holder]}"
  wait_free "$K"
  kill -CONT "${PIDS[holder]}"
  finish holder
  assert_equal "$status" 76
  assert_equal "$(marked_processes)" ''
}

@test "kill -9 of rlock does not leave a job running past the lease" {
  hold_stubborn holder -t 800ms
  kill -KILL "${PIDS[holder]}"
  wait_free "$K"
  assert_equal "$(marked_processes)" ''
}
