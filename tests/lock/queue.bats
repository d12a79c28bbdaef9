#!/usr/bin/env bats
# Those who wait: in the order they came, woken at once, gone without a trace.
load ../lib/rlock

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
  reserve holder "$K"
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
  assert_stderr_line "gave up on '$K' after 300ms: held by $(id -un)@"
  queued "$K" 0
  assert_equal "$(mailboxes "$K")" 0
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
    assert_equal "$(mailboxes "$K")" 0
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

@test "without a terminal, one line about the wait and one about its end" {
  hold holder -k "$K" --label nightly
  start waiter -k "$K" -w 60s -- true
  wait_queued "$K" 1
  wait_until says "$T/waiter.err" "rlock: waiting for '$K': held by $(id -un)@"
  says "$T/waiter.err" /nightly
  says "$T/waiter.err" 'position 1'
  let_go holder
  finish waiter
  assert_stderr_line "rlock: got '$K' after "
  assert_equal "$(wc -l <"$T/waiter.err")" 2
}

@test "the waiting line is silent with --quiet" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -q -- true
  let_go holder
  finish waiter
  assert_silent
}

@test "a long wait needs little memory, and the turn comes as before" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -- echo ran
  gives_back_memory waiter
  let_go holder
  finish waiter
  assert_success
  assert_output ran
}
