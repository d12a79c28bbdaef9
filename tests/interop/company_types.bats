#!/usr/bin/env bats
# A key that is no string, Redisson's hash first of all: a foreign holder that is waited for, and never changed.
load ../lib/rlock
load ../lib/company

NOBODY=nobody@here:1/x#0000000000000000000000000000000000000000

# let_hold NAME: Redisson has the lock; VALUE is all of the key, EXPIRY the end of its lease.
let_hold() {
  local name=$1
  ask "$name" acquire 60000
  assert_answer yes
  assert_equal "$(redis type "$K")" hash
  remember
}

remember() {
  VALUE=$(redis --no-raw dump "$K")
  EXPIRY=$(redis pexpiretime "$K")
}

assert_unchanged() {
  assert_equal "$(redis --no-raw dump "$K")" "$VALUE"
  assert_equal "$(redis pexpiretime "$K")" "$EXPIRY"
}

# nothing_takes_it: all that could take, end or change a lock is refused; the key is what it was.
nothing_takes_it() {
  local how
  for how in '' '-s' '--permits 2' '-w 300ms' '--supersede -w 300ms' '--min-hold 1m'; do
    # shellcheck disable=SC2086
    attempt -k "$K" $how -q -- touch "$T/ran"
    assert_equal "$status" 75
  done
  attempt acquire -k "$K" --ttl 1m
  assert_equal "$status" 75
  attempt force-release "$K" --yes --wait 100ms
  assert_equal "$status" 75
  assert_one_stderr_line 'empty or not a string' 'nothing was done'
  attempt cancel "$K" --wait 100ms
  assert_equal "$status" 75
  assert_one_stderr_line 'held by a foreign client (its value is empty or no string)' 'only an rlock can be asked'
  attempt refresh -k "$K" --token "$NOBODY" --ttl 1m
  assert_equal "$status" 76
  attempt release -k "$K" --token "$NOBODY"
  assert_equal "$status" 76
  [[ ! -e $T/ran ]]
  assert_unchanged
}

@test "while Redisson holds, rlock is turned away, and says whose kind it is" {
  meet alice redisson "$K"
  let_hold alice
  attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by a foreign client (its value is empty or no string)"
  run rlock inspect "$K"
  assert_success
  assert_line --regexp '^state +held'
  assert_line --regexp '^holder .*foreign'
  assert_equal "$(json '[d["state"], d["mode"], d["holder"]["foreign"]]' inspect "$K" --json)" '["held", null, true]'
  nothing_takes_it
  ask alice extend 90000
  assert_answer yes
  ask alice release
  assert_answer yes
  attempt -k "$K" -- echo ran
  assert_output ran
  part alice
}

@test "a waiter of rlock has the lock when Redisson has released" {
  meet alice redisson "$K"
  let_hold alice
  start waiter -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  wait_until says "$T/waiter.err" 'held by a foreign client (its value is empty or no string)'
  assert_unchanged
  ask alice release
  assert_answer yes
  finish waiter
  assert_success
  assert_output ran
  part alice
}

@test "a waiter of rlock has the lock when the lease of a Redisson that crashed is over" {
  meet alice redisson "$K"
  ask alice acquire 1500
  assert_answer yes
  remember
  signal KILL alice
  finish alice
  run rlock -q -w 60s -k "$K" -- date +%s%3N
  assert_success
  assert_less "$EXPIRY" "$((output + 1))"
}

@test "while rlock holds, Redisson gets an error and never the lock" {
  meet alice redisson "$K"
  hold holder -k "$K" -t 600s
  remember
  for verb in 'acquire 60000' 'extend 60000' release; do
    # shellcheck disable=SC2086
    ask alice $verb
    assert_answer error
    [[ $answer == *WRONGTYPE* ]]
  done
  assert_unchanged
  let_go holder
  assert_success
  let_hold alice
  ask alice release
  assert_answer yes
  part alice
}

@test "an rlock that lost the lock to Redisson stops its job and leaves the hash alone" {
  own_server
  meet alice redisson "$K"
  lose_to alice
  assert_unchanged
  part alice
}

@test "a list, a set, a sorted set and a stream hold like a hash, until they are gone" {
  local make how
  for make in 'rpush KEY a b' 'sadd KEY a b' 'zadd KEY 1 a 2 b' 'xadd KEY 1-1 a b'; do
    # shellcheck disable=SC2086
    redis ${make/KEY/"$K"} >/dev/null
    remember
    assert_equal "$EXPIRY" -1
    for how in "-k $K" "-s -k $K"; do
      # shellcheck disable=SC2086
      attempt $how -q -- touch "$T/ran"
      assert_equal "$status" 75
    done
    attempt force-release "$K" --yes
    assert_equal "$status" 75
    assert_unchanged
    start waiter -k "$K" -q -w 60s -- echo ran
    wait_queued "$K" 1
    redis del "$K" >/dev/null
    finish waiter
    assert_success
    assert_output ran
  done
  [[ ! -e $T/ran ]]
}
