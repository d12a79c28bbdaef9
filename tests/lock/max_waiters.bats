#!/usr/bin/env bats
# --max-waiters: no longer queue than that.
load ../lib/rlock

@test "with so many in the queue one is busy at once, even with --wait" {
  local before
  hold holder -k "$K"
  queue_up first "$K" 1 --max-waiters 2 -- true
  queue_up second "$K" 2 --max-waiters 2 -- true
  before=$(now_ms)
  attempt -k "$K" --max-waiters 2 -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by" 'its queue is full (2 waiting, --max-waiters 2)'
  assert_less $(($(now_ms) - before)) 10000
  attempt -k "$K" --max-waiters 2 -w 60s -E 4 -- touch "$T/ran"
  assert_equal "$status" 4
  [[ ! -e $T/ran ]]
  queued "$K" 2
  let_go holder
  finish first
  assert_success
  finish second
  assert_success
}

@test "0 waits for nobody" {
  hold holder -k "$K"
  attempt -k "$K" --max-waiters 0 -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  attempt -k "$K" --max-waiters 0 -w 60s -- echo ran
  assert_success
  assert_output ran
}

@test "dead waiters do not count for longer than they are believed alive" {
  script enter id dead ttl 30000 confirm_within 2000 patience 30000 >/dev/null # holds
  script enter id ghost ttl 30000 confirm_within 2000 patience 300 >/dev/null  # waits, believed alive for 300 ms
  sleep 0.4
  start waiter -k "$K" --max-waiters 1 -w 60s -- echo ran
  wait_until says "$T/waiter.err" 'position 1'
  script leave id dead confirm_within 2000 how release
  finish waiter
  assert_success
}

@test "it also comes from the environment, and is a number" {
  hold holder -k "$K"
  RLOCK_MAX_WAITERS=0 attempt -k "$K" -w 60s -- true
  assert_equal "$status" 75
  attempt -k "$K" --max-waiters few -w 60s -- true
  assert_equal "$status" 64
  assert_one_stderr_line "--max-waiters: 'few' is not valid"
  let_go holder
}
