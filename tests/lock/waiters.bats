#!/usr/bin/env bats
# Waiters that die, stop, lose their connection or their server; holders that were killed.
load ../lib/rlock

token_at() {
  local key=$1 rank=$2
  redis zrange "$(companion "$key" queue)" "$rank" "$rank"
}

# assert_ran_within NAME MS SINCE: the job of NAME, which says when it ran, did so within MS of SINCE.
assert_ran_within() {
  local name=$1 ms=$2 since=$3
  finish "$name"
  assert_success
  assert_less $((output / 1000000 - since)) "$ms"
}

@test "a dead waiter at the head delays the next by seconds at most" {
  local before
  hold holder -k "$K"
  queue_up dead "$K" 1 -- true
  queue_up alive "$K" 2 -- echo ran
  kill -KILL "${PIDS[dead]}"
  wait_until gone "${PIDS[dead]}"
  before=$(now_ms)
  let_go holder
  finish alive
  assert_output ran
  assert_less $(($(now_ms) - before)) 8000 # the claim of 2 s, a heartbeat would be 10 s
}

@test "eight dead waiters delay the next by three seconds at most, and leave nothing" {
  local number before
  hold holder -k "$K"
  for number in 1 2 3 4 5 6 7 8; do
    queue_up "dead-$number" "$K" "$number" -- true
  done
  queue_up alive "$K" 9 -- date +%s%N
  for number in 1 2 3 4 5 6 7 8; do
    kill -KILL "${PIDS[dead-$number]}"
  done
  before=$(now_ms)
  let_go holder
  assert_ran_within alive 3200 "$before"
  queued "$K" 0
  assert_equal "$(mailboxes "$K")" 0
}

@test "the holder and the first waiter die together: the next one takes over soon after the lease" {
  local before
  hold holder -k "$K" -t 1s
  queue_up first "$K" 1 -- true
  queue_up second "$K" 2 -- date +%s%N
  sleep 1
  kill -KILL "${PIDS[holder]}" "${PIDS[first]}"
  before=$(now_ms)
  assert_ran_within second 4000 "$before"
}

@test "the holder and the first three die together: the fourth takes over soon after the lease" {
  local before each
  hold holder -k "$K" -t 1s
  for each in 1 2 3; do queue_up "waiter$each" "$K" "$each" -- true; done
  queue_up next "$K" 4 -- date +%s%N
  queue_up last "$K" 5 -- true
  sleep 1
  kill -KILL "${PIDS[holder]}" "${PIDS[waiter1]}" "${PIDS[waiter2]}" "${PIDS[waiter3]}" "${PIDS[last]}"
  before=$(now_ms)
  assert_ran_within next 4000 "$before"
}

@test "four dead waiters delay the next permit by three seconds at most" {
  local before each
  hold other -k "$K" --permits 2
  hold holder -k "$K" --permits 2
  for each in 1 2 3 4; do queue_up "dead-$each" "$K" "$each" --permits 2 -- true; done
  queue_up next "$K" 5 --permits 2 -- date +%s%N
  for each in 1 2 3 4; do signal KILL "dead-$each"; done
  before=$(now_ms)
  let_go holder
  assert_ran_within next 3500 "$before"
  let_go other
}

@test "four dead readers delay the next one by three seconds at most" {
  local before each
  hold writer -k "$K"
  queue_up reader "$K" 1 -s -- "$LIB/until-file" "$T/reader.go"
  for each in 1 2 3 4; do queue_up "dead-$each" "$K" "$((each + 1))" -s -- true; done
  queue_up next "$K" 6 -s -- date +%s%N
  for each in 1 2 3 4; do signal KILL "dead-$each"; done
  before=$(now_ms)
  let_go writer
  assert_ran_within next 3500 "$before"
  let_go reader
}

@test "a shorter lease after a hand-off is known to those who look at its end" {
  local before
  hold holder -k "$K" -t 60s
  queue_up short "$K" 1 -t 1s -- "$LIB/until-file" "$T/short.go"
  queue_up first "$K" 2 -- true
  queue_up second "$K" 3 -- date +%s%N
  queue_up last "$K" 4 -- true
  let_go holder
  wait_until says "$T/short.out" started
  sleep 1
  kill -KILL "${PIDS[short]}" "${PIDS[first]}" "${PIDS[last]}"
  before=$(now_ms)
  assert_ran_within second 4000 "$before"
}

@test "a stopped waiter is passed over, and gets the lock when it goes on" {
  hold holder -k "$K"
  queue_up stopped "$K" 1 -- echo stopped
  queue_up next "$K" 2 -- "$LIB/until-file" "$T/next.go"
  kill -STOP "${PIDS[stopped]}"
  let_go holder
  wait_until says "$T/next.out" started
  kill -CONT "${PIDS[stopped]}"
  wait_queued "$K" 1
  unsaid "$T/stopped.out" stopped
  let_go next
  finish stopped
  assert_success
  assert_output stopped
}

@test "the lock of a holder that was killed is taken over within its lease, its job is gone before" {
  local before
  start holder -k "$K" -t 3s -- sh -c 'trap "" TERM; echo $$ >"$T/job.pid"; echo started; exec sleep 300'
  wait_until says "$T/holder.out" started
  queue_up heir "$K" 1 -- sh -c 'grep -s "^State:.[^ZX]" "/proc/$(cat "$T/job.pid")/status"; date +%s%N'
  before=$(now_ms)
  kill -KILL "${PIDS[holder]}"
  finish heir
  assert_success
  assert_equal "${#lines[@]}" 1
  assert_less $((output / 1000000 - before)) 9000
}

@test "a waiter keeps its place when its connection is reset" {
  own_server
  hold holder -k "$K"
  start_proxy
  queue_up first "$K" 1 -- sh -c 'echo first >>"$T/order"'
  use_server "$SERVER"
  queue_up second "$K" 2 -- sh -c 'echo second >>"$T/order"'
  proxy reset
  wait_until says "$T/proxy.log" 'connect 2'
  let_go holder
  finish first
  assert_success
  finish second
  assert_equal "$(<"$T/order")" $'first\nsecond'
  stop_proxy
}

@test "waiters keep their places when the server restarts with its data" {
  own_server --appendonly yes --appendfsync always
  hold holder -k "$K"
  queue_up first "$K" 1 -- sh -c 'echo first >>"$T/order"'
  queue_up second "$K" 2 -- sh -c 'echo second >>"$T/order"'
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  let_go holder
  assert_success
  finish first
  assert_success
  finish second
  assert_equal "$(<"$T/order")" $'first\nsecond'
}

@test "waiters queue again, in their order, when the server lost its data" {
  own_server
  redis set "$K" other px 60000
  queue_up first "$K" 1 -- sh -c 'echo first >>"$T/order"'
  queue_up second "$K" 2 -- sh -c 'echo second >>"$T/order"'
  pause_redis "$SERVER" # nobody reads the queue before both are back in it
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  finish first
  assert_success
  finish second
  assert_success
  line_count_is "$T/order" 2
}

@test "waiters whose queue was lost come back to their places" {
  local first second
  hold holder -k "$K"
  queue_up first "$K" 1 -q -- sh -c 'echo first >>"$T/order"'
  queue_up second "$K" 2 -q -- sh -c 'echo second >>"$T/order"'
  first=$(token_at "$K" 0)
  second=$(token_at "$K" 1)
  redis del "$(companion "$K" queue)" "$(companion "$K" alive)"
  # Woken, they ask again with the tickets they had: the second one before the first.
  redis rpush "$(companion "$K" mail):$second" wake
  wait_queued "$K" 1
  redis rpush "$(companion "$K" mail):$first" wake
  wait_queued "$K" 2
  assert_equal "$(token_at "$K" 0)" "$first"
  let_go holder
  finish first
  finish second
  assert_equal "$(<"$T/order")" $'first\nsecond'
}

@test "a stale wake changes nothing" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -- echo ran
  redis rpush "$(companion "$K" mail):$(token_at "$K" 0)" wake
  wait_until no_mail "$K"
  queued "$K" 1
  let_go holder
  finish waiter
  assert_output ran
}

no_mail() {
  local key=$1
  [[ $(redis llen "$(companion "$key" mail):$(token_at "$key" 0)") == 0 ]]
}
