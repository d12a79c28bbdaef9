#!/usr/bin/env bats
# Readers and writers at a quorum: readers together, writers alone, whichever servers they reach.
load ../../lib/rlock
load ../../lib/quorum

reader() {
  local name=$1
  shift
  hold "$name" -k "$K" -s "$@"
}

# holders_are NUMBER: so many hold it, says rlock.
holders_are() {
  local number=$1
  [[ $(json "len(d['holders'])" inspect --json "$K") == "$number" ]]
}

# waiters_are NUMBER: so many wait, says rlock.
waiters_are() {
  local number=$1
  [[ $(json "len(d['waiters'])" inspect --json "$K") == "$number" ]]
}

# readers_on NODE NUMBER: so many readers have it there.
readers_on() {
  local server=$1 number=$2
  [[ $(node "$server" zcard "{$K}:rlock:held") == "$number" ]]
}

# queue_of NODE NUMBER: so many wait there.
queue_of() {
  local server=$1 number=$2
  [[ $(node "$server" zcard "{$K}:rlock:queue") == "$number" ]]
}

# wait_in_line NAME NUMBER ARGUMENT...: a waiter, behind NUMBER - 1 others.
wait_in_line() {
  local name=$1 number=$2
  shift 2
  start "$name" -k "$K" -w 60s -q "$@"
  wait_until waiters_are "$number"
}

@test "readers hold every server together, and nothing is left of them" {
  start_quorum
  local number
  reader one
  reader two
  holders_are 2
  assert_equal "$(json "d['mode']" inspect --json "$K")" shared
  for number in 1 2 3; do readers_on "$number" 2; done
  let_go one
  assert_success
  holders_are 1
  let_go two
  assert_success
  wait_until on_nodes "$K" 0
  wait_until on_nodes "{$K}:rlock:held" 0
  wait_until on_nodes "{$K}:rlock:queue" 0
}

@test "a writer waits for every reader, and a later reader for the writer" {
  start_quorum
  reader one
  reader two
  wait_in_line writer 1 -- sh -c "echo writer >>'$T/order'"
  wait_in_line late 2 -s -- sh -c "echo late >>'$T/order'"
  attempt -k "$K" -s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go one
  waiters_are 2
  let_go two
  finish writer
  assert_success
  finish late
  assert_success
  assert_equal "$(paste -sd ' ' "$T/order")" 'writer late'
  [[ ! -e $T/ran ]]
  wait_until on_nodes "{$K}:rlock:queue" 0
}

@test "readers that waited run together" {
  start_quorum
  local name number=0
  hold writer -k "$K"
  for name in a b c; do
    # shellcheck disable=SC2016
    wait_in_line "$name" $((++number)) -s -- sh -c 'touch "$T/here.$$"
      timeout 20 sh -c "until [ \$(ls \$T | grep -c ^here) = 3 ]; do sleep 0.05; done"'
  done
  let_go writer
  for name in a b c; do
    finish "$name"
    assert_success
  done
}

@test "a writer's fence is above those of the readers before it, a reader's above the writer's" {
  start_quorum
  local one two
  reader one
  reader two
  one=$(json "d['holders'][0]['fence']" inspect --json "$K")
  two=$(json "d['holders'][1]['fence']" inspect --json "$K")
  let_go one
  let_go two
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  assert_less "$one" "$output"
  assert_less "$two" "$output"
  two=$output
  # shellcheck disable=SC2016
  attempt -k "$K" -s -- sh -c 'echo $RLOCK_FENCE'
  assert_less "$two" "$output"
}

@test "a server gives a writer a higher fence than a reader had that it gave a lower number" {
  start_quorum
  local ahead fence
  # The last fences of two servers are far ahead of the clocks, so the first one has to take over the reader's.
  ahead=$(($(date +%s) * 1000000 + 3600000000))
  node 2 set "{$K}:rlock:fence" "$ahead somebody"
  node 3 set "{$K}:rlock:fence" "$ahead somebody"
  reader one
  fence=$(json "d['holders'][0]['fence']" inspect --json "$K")
  assert_less "$ahead" "$fence"
  let_go one
  # Now only the first one knows.
  node 2 del "{$K}:rlock:fence"
  pause_redis "${NODES[2]}"
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  resume_redis "${NODES[2]}"
  assert_success
  assert_less "$fence" "$output"
}

@test "readers run, and exclude a writer, while a server is away" {
  start_quorum
  kill_redis "${NODES[2]}"
  reader one
  reader two
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line 'held by'
  [[ ! -e $T/ran ]]
  let_go one
  let_go two
  attempt -k "$K" -- true
  assert_success
}

@test "a server that lost its data has the readers again at their next refresh, as readers" {
  start_quorum
  reader one -t 1500ms --grace 100ms
  reader two -t 1500ms --grace 100ms
  node 2 flushall
  wait_until readers_on 2 2
  assert_equal "$(node 2 get "$K")" rlock:shared
  let_go one
  assert_success
  let_go two
  assert_success
}

@test "a refresh in a step heals a reader's lock as a reader's" {
  start_quorum
  local token other
  token=$(rlock acquire -k "$K" -s -t 30s)
  other=$(rlock acquire -k "$K" -s -t 30s)
  node 1 flushall
  attempt refresh -k "$K" --token "$token" -t 30s
  assert_success
  wait_until readers_on 1 1
  assert_equal "$(node 1 get "$K")" rlock:shared
  attempt refresh -k "$K" --token "$other" -t 30s
  assert_success
  wait_until readers_on 1 2
  attempt release -k "$K" --token "$token"
  assert_success
  attempt release -k "$K" --token "$other"
  assert_success
  wait_until on_nodes "$K" 0
}

@test "a reader that was killed makes room for the writer at the end of its lease" {
  start_quorum
  reader one -t 2s
  reader two
  wait_in_line writer 1 -- echo ran
  signal KILL one
  let_go two
  finish writer
  assert_success
  assert_output ran
}

@test "a reader that is released where it only waited lets those behind it pass" {
  start_quorum
  local others
  # A writer that knows only the third server holds it there, so the reader waits there and runs.
  others="unix://${NODES[2]}/redis.sock"
  hold writer -S "$others" -k "$K"
  start one -k "$K" -s -w 60s -q -- "$LIB/until-file" "$T/one.go"
  wait_until says "$T/one.out" started
  queue_of 3 1
  start behind -S "$others" -k "$K" -s -w 60s -q -- true
  wait_until queue_of 3 2
  touch "$T/one.go"
  finish one
  assert_success
  queue_of 3 1
  let_go writer
  finish behind
  assert_success
}

@test "force-release takes it from the readers that were shown" {
  start_quorum
  reader one
  reader two
  attempt force-release --yes "$K"
  assert_success
  finish one
  assert_equal "$status" 76
  finish two
  assert_equal "$status" 76
  wait_until on_nodes "$K" 0
}

@test "options that cannot be counted on a quorum are refused" {
  start_quorum
  local option
  for option in --permits=2 --one-of=a,b --max-waiters=3 --supersede --sync-replicas=1; do
    attempt "$option" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_stderr_line "${option%%=*}: does not work with"
  done
  [[ ! -e $T/ran ]]
}
