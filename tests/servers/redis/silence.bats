#!/usr/bin/env bats
# Servers and networks that fall silent while the job runs: it is stopped in time, or never notices.
load ../../lib/rlock

last_beat() {
  tail -n 2 "$T/beat" | head -n 1 # the last line may be cut short
}

@test "a silent server: a job that ignores TERM is gone before the lease ends" {
  local lease_end
  own_server
  # The margin is a hundredth of the lease: 4 s leave the scheduler of a busy machine 42 ms.
  hold_stubborn holder -t 4s --grace 300ms
  # Right after a refresh the next one is far away: time enough to read the lease's end and stop the server.
  wait_refreshed "$K"
  lease_end=$(redis pexpiretime "$K")
  pause_redis "$SERVER"
  finish holder
  assert_equal "$status" 76
  assert_less "$(now_ms)" $((lease_end + 15000))
  assert_less $(($(last_beat) / 1000)) "$lease_end"
  assert_equal "$(marked_processes)" ''
  resume_redis "$SERVER"
}

@test "a network that forwards nothing: the same, measured at the server" {
  local lease_end
  own_server
  start_proxy
  hold_stubborn holder -t 4s --grace 200ms
  proxy stall
  lease_end=$(redis pexpiretime "$K") # nothing reaches the server now
  finish holder
  assert_equal "$status" 76
  assert_less $(($(last_beat) / 1000)) "$lease_end"
  stop_proxy
}

@test "a job that heeds TERM has its grace before the lease ends" {
  own_server
  start holder -k "$K" -t 6s --grace 3s -- bash -c '
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
  hold holder -k "$K" -t 5s --grace 100ms
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
  hold holder -k "$K" -t 4s --grace 100ms
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
  hold holder -k "$K" -t 4s --grace 100ms
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
  hold holder -k "$K" -t 12s
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

@test "a release on a connection that the server closed meanwhile finds out that another has the lock, and says so" {
  own_server
  hold holder -k "$K" -t 60s
  sleep 1.2 # until the holder listens
  redis client kill type normal skipme yes >/dev/null
  redis set "$K" other px 60000 >/dev/null
  let_go holder
  assert_success
  assert_one_stderr_line "it had lost the lock '$K' before"
  assert_equal "$(redis get "$K")" other
}

@test "a release on a connection that died without a word goes out on a new one" {
  own_server
  start_proxy
  hold holder -k "$K" -t 60s
  start waiter -S "unix://$SERVER/redis.sock" -k "$K" -t 60s -w 60s -q -- echo ran
  wait_queued "$K" 1
  proxy forget
  let_go holder
  assert_success
  assert_silent
  finish waiter
  assert_output ran
  stop_proxy
}

@test "several locks whose connections all died are all released on new ones" {
  own_server
  start_proxy
  hold holder -k "$K:a" -k "$K:b" -k "$K:c" -k "$K:d" -t 60s
  proxy forget
  let_go holder
  assert_success
  assert_silent
  free "$K:a" && free "$K:b" && free "$K:c" && free "$K:d"
  stop_proxy
}
