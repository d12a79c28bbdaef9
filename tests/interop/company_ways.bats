#!/usr/bin/env bats
# Cases of only one other client, or of only some of rlock's ways to hold; company_clients.bats has all others.
load ../lib/rlock
load ../lib/company
load ../lib/quorum

@test "a client that asks for no expiry is waited for; when it crashed, only force-release ends it" {
  local client name=$K
  for client in redis_py python_redis_lock; do
    K=$name
    if [[ $client == python_redis_lock ]]; then
      K=lock:$name
    fi
    meet "$client" "$client" "$name"
    ask "$client" acquire 0
    assert_answer yes
    assert_equal "$(redis pttl "$K")" -1
    signal KILL "$client"
    finish "$client"
    attempt -k "$K" -w 300ms -- touch "$T/ran"
    assert_equal "$status" 75
    assert_equal "$(redis pttl "$K")" -1
    start waiter -k "$K" -q -w 60s -- echo ran
    wait_queued "$K" 1
    attempt force-release "$K" --yes --wait 100ms
    assert_equal "$status" 0
    finish waiter
    assert_success
    assert_output ran
  done
  [[ ! -e $T/ran ]]
}

@test "redis-py's reacquire and its added time do nothing to rlock's lock, which is not its own" {
  meet alice redis_py "$K"
  ask alice acquire 60000
  assert_answer yes
  redis del "$K"
  hold holder -k "$K" -t 600s
  TOKEN=$(redis get "$K")
  EXPIRY=$(redis pexpiretime "$K")
  ask alice owned
  assert_answer no
  ask alice locked
  assert_answer yes
  ask alice reacquire
  assert_answer no
  ask alice add 60000
  assert_answer no
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  let_go holder
  assert_success
  part alice
}

@test "readers and permits of rlock exclude the others, and are excluded" {
  local how waiter=first
  meet alice redis_py "$K"
  for how in '-s' '--permits 2'; do
    ask alice acquire 60000
    assert_answer yes
    # shellcheck disable=SC2086
    attempt -k "$K" $how -q -- touch "$T/ran"
    assert_equal "$status" 75
    # shellcheck disable=SC2086
    start "$waiter" -k "$K" $how -q -w 60s -- "$LIB/until-file" "$T/$waiter.go"
    wait_queued "$K" 1
    ask alice release
    assert_answer yes
    wait_until says "$T/$waiter.out" started
    ask alice acquire 60000
    assert_answer no
    let_go "$waiter"
    assert_success
    waiter=second
  done
  [[ ! -e $T/ran ]]
  part alice
}

@test "rlock acquire and release, in separate processes, count like any holder" {
  meet alice redis_py "$K"
  run rlock acquire -k "$K" --ttl 5m
  assert_success
  ask alice acquire 60000
  assert_answer no
  rlock release -k "$K" --token "$output"
  ask alice acquire 60000
  assert_answer yes
  attempt acquire -k "$K" --ttl 5m
  assert_equal "$status" 75
  ask alice release
  assert_answer yes
  part alice
}

@test "Spring's unlock with a message on its channel is a release like any other" {
  meet alice spring "$K"
  ask alice acquire 60000
  assert_answer yes
  start waiter -k "$K" -q -w 60s -- echo ran
  wait_queued "$K" 1
  ask alice release_and_publish
  assert_answer yes
  finish waiter
  assert_success
  assert_output ran
  hold holder -k "$K"
  TOKEN=$(redis get "$K")
  ask alice release_and_publish
  assert_answer no
  assert_equal "$(redis get "$K")" "$TOKEN"
  let_go holder
  assert_success
  part alice
}

@test "python-redis-lock's reset takes the lock from rlock, which stops its job" {
  local name=$K
  K=lock:$name
  meet alice python_redis_lock "$name"
  start holder -k "$K" -t 3s -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  ask alice reset
  assert_answer yes
  finish holder
  assert_equal "$status" 76
  part alice
}

of_one_holder() {
  local key=$1 token
  token=$(node 1 get "$key")
  [[ $token == *@* && $(node 2 get "$key") == "$token" && $(node 3 get "$key") == "$token" ]]
}

@test "redlock over three servers and a quorum of rlock exclude each other" {
  start_quorum 3
  meet alice redlock "$K" "${NODES[@]/%//redis.sock}"
  ask alice acquire 60000
  assert_answer yes
  wait_until on_nodes "$K" 3
  attempt -k "$K" -q -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  start waiter -k "$K" -q -w 60s -- "$LIB/until-file" "$T/waiter.go"
  ask alice extend 60000
  assert_answer yes
  ask alice release
  assert_answer yes
  wait_until says "$T/waiter.out" started
  ask alice acquire 60000
  assert_answer no
  # One server of three that lost its data is not enough for the other, once all three have the lock: one from which
  # the other had not yet gone is entered with the first refresh.
  wait_until of_one_holder "$K"
  node 2 flushall
  ask alice acquire 60000
  assert_answer no
  let_go waiter
  assert_success
  ask alice acquire 60000
  assert_answer yes
  part alice
}

@test "redlock takes several resources together as rlock does several keys: all or none" {
  meet alice redlock "$K:a,$K:b"
  hold holder -k "$K:b"
  ask alice acquire 60000
  assert_answer no
  free "$K:a"
  let_go holder
  ask alice acquire 60000
  assert_answer yes
  attempt -k "$K:b" -k "$K:c" -q -- true
  assert_equal "$status" 75
  wait_free "$K:c"
  start waiter -k "$K:a" -k "$K:b" -q -w 60s -- echo ran
  wait_queued "$K:a" 1
  ask alice release
  assert_answer yes
  finish waiter
  assert_success
  assert_output ran
  part alice
}
