#!/usr/bin/env bats
# Other clients on the same key: a plain SET NX PX with a token excludes rlock and is excluded by it.
load ../lib/rlock

@test "SET NX of another client fails while rlock holds" {
  hold first -k "$K"
  run redis set "$K" other nx px 5000
  assert_output ''
  let_go first
  run redis set "$K" other nx px 5000
  assert_output OK
}

@test "rlock is turned away while another client holds, and names its token" {
  redis set "$K" redlock-token-1 nx px 60000
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by"
  assert_stderr_line redlock-token-1
  [[ ! -e $T/ran ]]
  assert_equal "$(redis get "$K")" redlock-token-1
}

@test "a waiter sees that another client released, long before its lease would end" {
  redis set "$K" other nx px 3600000
  start waiter -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  redis del "$K"
  finish waiter
  assert_success
  assert_output ran
}

@test "a waiter takes over when another client's lease ends" {
  redis set "$K" other nx px 400
  run rlock -k "$K" -w 60s -q -- echo ran
  assert_success
  assert_output ran
}

@test "another client cannot barge in between a release and the waiter" {
  local round
  for round in {1..5}; do
    hold "holder-$round" -k "$K"
    start "waiter-$round" -k "$K" -w 60s -- "$LIB/until-file" "$T/waiter-$round.go"
    wait_queued "$K" 1
    # the thief tries all the time; the key is never free
    launch "thief-$round" sh -c 'until [ -e "$T/stop" ]; do redis-cli -s "$SERVER/redis.sock" set "$K" thief nx px 100; done'
    let_go "holder-$round"
    wait_until says "$T/waiter-$round.out" started
    touch "$T/stop"
    finish "thief-$round"
    [[ $output != *OK* ]] || fail "the thief got in"
    rm "$T/stop"
    let_go "waiter-$round"
    assert_success
  done
}

@test "a holder of any other type is foreign, and left alone" {
  redis hset "$K" field value
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by"
  start waiter -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  assert_equal "$(redis hget "$K" field)" value
  redis del "$K"
  finish waiter
  assert_output ran
}

@test "a holder with no expiry is waited for, not overrun" {
  redis set "$K" forever
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  attempt -k "$K" -w 300ms -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  assert_equal "$(redis get "$K")" forever
  assert_equal "$(redis pttl "$K")" -1
}

@test "a foreign token of strange bytes reaches no terminal raw" {
  redis -x set "$K" <<<$'\e[31mred\x01\xff'
  attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by"
  [[ $stderr != *$'\e'* && $stderr != *$'\x01'* ]]
}

@test "an empty foreign value holds too" {
  redis set "$K" ''
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  # It cannot be told from a value that is no string, so nobody can say that it is the one they saw.
  attempt force-release "$K" --yes --wait 100ms
  assert_equal "$status" 75
  assert_one_stderr_line 'empty or not a string' 'nothing was done'
  attempt cancel "$K" --wait 100ms
  assert_equal "$status" 75
  assert_one_stderr_line 'empty or no string' 'only an rlock can be asked'
  assert_equal "$(redis exists "$K")" 1
}
