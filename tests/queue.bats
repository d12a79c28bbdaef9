#!/usr/bin/env bats
# Those who wait: in the order they came, woken at once, gone without a trace.
load lib/rlock

# queue_up NAME KEY PLACE [RLOCK OPTION...] -- COMMAND: a waiter that stands in the queue.
queue_up() {
  local name=$1 key=$2 place=$3
  shift 3
  start "$name" -k "$key" -w 60s "$@"
  wait_queued "$key" "$place"
}

token_at() {
  local key=$1 rank=$2
  redis zrange "$(companion "$key" queue)" "$rank" "$rank"
}

mailboxes() {
  redis --raw keys "*:mail:*" | grep -cF -e "$K" || true
}

@test "twenty waiters run in the order in which they came" {
  local number
  hold holder -k "$K"
  for number in {1..20}; do
    queue_up "waiter-$number" "$K" "$number" -q -- sh -c "echo $number >>'$T/order'"
  done
  let_go holder
  for number in {1..20}; do
    finish "waiter-$number"
    assert_success
  done
  assert_equal "$(<"$T/order")" "$(seq 1 20)"
}

@test "a waiter's fence is greater than its predecessor's" {
  local number last=0 now
  hold holder -k "$K"
  for number in 1 2 3; do
    queue_up "waiter-$number" "$K" "$number" -q -- sh -c 'echo "$RLOCK_FENCE" >>"$T/fences"'
  done
  let_go holder
  for number in 1 2 3; do
    finish "waiter-$number"
  done
  while read -r now; do
    ((now > last))
    last=$now
  done <"$T/fences"
  line_count_is "$T/fences" 3
}

@test "the next one is woken at once, not at a heartbeat" {
  local released started
  hold holder -k "$K"
  queue_up waiter "$K" 1 -- sh -c 'date +%s%N'
  released=$(now_ms)
  let_go holder
  finish waiter
  started=$((output / 1000000))
  assert_less $((started - released)) 5000 # a heartbeat takes 10 s, a lease 30 s
}

@test "a newcomer does not barge in while the first waiter has yet to confirm" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -- echo ran
  kill -STOP "${PIDS[waiter]}"
  let_go holder
  attempt -k "$K" -n -- touch "$T/ran"
  kill -CONT "${PIDS[waiter]}"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  finish waiter
  assert_success
  assert_output ran
}

@test "a wait that ends exits 75 and leaves the queue" {
  hold holder -k "$K"
  attempt -k "$K" -w 300ms -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line "'$K' was not free within 300ms: held by $(id -un)@"
  queued "$K" 0
  assert_equal "$(mailboxes)" 0
  [[ ! -e $T/ran ]]
  let_go holder
}

@test "a wait lasts about as long as it says" {
  local before
  redis set "$K" other px 60000
  before=$(now_ms)
  attempt -q -k "$K" -w 700ms -- true
  assert_equal "$status" 75
  assert_less 699 $(($(now_ms) - before))
  assert_less $(($(now_ms) - before)) 5000
}

@test "--wait forever waits" {
  hold holder -k "$K"
  start waiter -k "$K" --wait forever -- echo ran
  wait_queued "$K" 1
  let_go holder
  finish waiter
  assert_success
  assert_output ran
}

@test "interrupted while waiting it leaves the queue and exits 128+N" {
  local name
  redis set "$K" other px 60000
  for name in TERM INT HUP QUIT; do
    queue_up waiter "$K" 1 -- touch "$T/ran"
    signal "$name" waiter
    finish waiter
    assert_equal "$status" $((128 + $(kill -l "$name")))
    queued "$K" 0
    assert_equal "$(mailboxes)" 0
  done
  [[ ! -e $T/ran ]]
}

@test "an interrupted first waiter lets the next one be the first" {
  hold holder -k "$K"
  queue_up first "$K" 1 -- echo first
  queue_up second "$K" 2 -- echo second
  signal TERM first
  finish first
  let_go holder
  finish second
  assert_output second
}

@test "the last of many that leaves takes nothing with it" {
  hold holder -k "$K"
  queue_up first "$K" 1 -- echo first
  queue_up second "$K" 2 -- echo second
  signal INT second
  finish second
  assert_equal "$status" 130
  let_go holder
  finish first
  assert_output first
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

@test "several dead waiters delay by seconds too, and leave nothing" {
  local number before
  hold holder -k "$K"
  for number in 1 2; do
    queue_up "dead-$number" "$K" "$number" -- true
  done
  queue_up alive "$K" 3 -- echo ran
  for number in 1 2; do
    kill -KILL "${PIDS[dead-$number]}"
  done
  before=$(now_ms)
  let_go holder
  finish alive
  assert_output ran
  assert_less $(($(now_ms) - before)) 19000 # a heartbeat, and a claim for each
  queued "$K" 0
  assert_equal "$(mailboxes)" 0
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
  start holder -k "$K" -t 1s -- sh -c 'trap "" TERM; echo $$ >"$T/job.pid"; echo started; exec sleep 300'
  wait_until says "$T/holder.out" started
  queue_up heir "$K" 1 -- sh -c 'grep -s "^State:.[^ZX]" "/proc/$(cat "$T/job.pid")/status"; date +%s%N'
  before=$(now_ms)
  kill -KILL "${PIDS[holder]}"
  finish heir
  assert_success
  assert_equal "${#lines[@]}" 1
  assert_less $((output / 1000000 - before)) 4000
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

@test "without a terminal, one line when the waiting begins" {
  hold holder -k "$K" --label nightly
  start waiter -k "$K" -w 60s -- true
  wait_queued "$K" 1
  wait_until says "$T/waiter.err" "rlock: waiting for '$K': held by $(id -un)@"
  says "$T/waiter.err" /nightly
  says "$T/waiter.err" 'position 1'
  let_go holder
  finish waiter
  assert_one_stderr_line
}

@test "the waiting line is silent with --quiet" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -q -- true
  let_go holder
  finish waiter
  assert_silent
}
