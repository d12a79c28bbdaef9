#!/usr/bin/env bats
# Waiters at a quorum: served in order of arrival, woken without polling, visible to operators.
load ../../lib/rlock
load ../../lib/quorum

# line_is NUMBER: so many wait, says rlock.
line_is() {
  local number=$1
  [[ $(json "len(d['waiters'])" inspect --json "$K") == "$number" ]]
}

# in_line NAME NUMBER -- COMMAND...: a waiter, behind NUMBER - 1 others on each server that answers.
in_line() {
  local name=$1 number=$2
  shift 2
  start "$name" -k "$K" -w 60s -q "$@"
  wait_until line_is "$number"
}

# crowd COUNT: waiters w1, w2, ... who write their numbers.
crowd() {
  local count=$1 number
  for ((number = 1; number <= count; number++)); do
    in_line "w$number" "$number" -- sh -c "echo $number >>'$T/order'"
  done
}

# all_ran COUNT: and in order.
all_ran() {
  local count=$1 number
  for ((number = 1; number <= count; number++)); do
    finish "w$number"
    assert_success
  done
  assert_equal "$(<"$T/order")" "$(seq 1 "$count")"
}

@test "ten waiters run in the order in which they came, each with a greater fence" {
  start_quorum
  hold holder -k "$K"
  crowd 10
  let_go holder
  all_ran 10
  wait_until on_nodes "$K" 0
  wait_until on_nodes "{$K}:rlock:queue" 0
}

@test "inspect shows who waits, in their order, and cancel sends one of them away" {
  start_quorum
  hold holder -k "$K"
  in_line first 1 -- true
  in_line second 2 -- touch "$T/ran"
  assert_equal "$(json "[w['pid'] for w in d['waiters']]" inspect --json "$K")" \
    "[${PIDS[first]}, ${PIDS[second]}]"
  attempt cancel "$K" --token "$(json "d['waiters'][1]['token']" inspect --json "$K")"
  assert_success
  [[ $output == *'has left the queue'* ]]
  finish second
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  line_is 1
  let_go holder
  finish first
  assert_success
}

@test "a waiter sends the servers less than a command a second, all together" {
  start_quorum
  local number before=0 after=0
  hold holder -k "$K" -t 60s
  in_line waiter 1 -- true
  sleep 1
  for number in 1 2 3; do ((before += $(commands_heard "$number"))); done
  sleep 6
  for number in 1 2 3; do ((after += $(commands_heard "$number"))); done
  assert_less $((after - before)) 7
  let_go holder
  finish waiter
  assert_success
}

# commands_heard NODE: scripts and waits, which a client sends; not what asks for them, or what scripts do.
commands_heard() {
  local number=$1
  node "$number" info commandstats |
    awk -F '[=,]' '/^cmdstat_(evalsha|eval|blpop)/ { calls += $2 } END { print calls + 0 }'
}

@test "a server that is silent at the hand-off does not keep the next ones from their turns" {
  start_quorum
  local released
  hold holder -k "$K"
  crowd 20
  pause_redis "${NODES[0]}"
  released=$(now_ms)
  let_go holder
  all_ran 20
  assert_less $(($(now_ms) - released)) 4000 # each of them would have waited half a second for it
  resume_redis "${NODES[0]}"
}

@test "where a server is silent and each of two others has another one's grant, somebody gives back" {
  start_quorum
  local round number began
  pause_redis "${NODES[0]}"
  for round in {1..8}; do
    began=$(now_ms)
    for number in 1 2 3 4; do
      start "r$round.$number" -k "$K" -w 60s -q --connect-timeout 20s -- true
    done
    for number in 1 2 3 4; do
      finish "r$round.$number"
      assert_success
    done
    assert_less $(($(now_ms) - began)) 10000 # a silent server has 20 s
  done
  resume_redis "${NODES[0]}"
}

@test "a server that lost its data gets its queue back, and nobody loses its place" {
  start_quorum
  hold holder -k "$K" -t 6s
  crowd 3
  node 2 flushall >/dev/null
  wait_until node_has_line 2 3
  let_go holder
  all_ran 3
}

node_has_line() {
  local number=$1 count=$2
  [[ $(node "$number" zcard "{$K}:rlock:queue") == "$count" ]]
}

@test "a dead waiter at the head delays the next by seconds at most" {
  start_quorum
  local released
  hold holder -k "$K"
  in_line dead 1 -- touch "$T/ran"
  in_line living 2 -- echo ran
  kill -KILL "${PIDS[dead]}"
  released=$(now_ms)
  let_go holder
  finish living
  assert_success
  assert_less $(($(now_ms) - released)) 6000
  [[ ! -e $T/ran ]]
}

@test "a single attempt does not go before those who wait, and says at once that it is busy" {
  start_quorum
  hold holder -k "$K"
  in_line waiter 1 -- echo ran
  kill -STOP "${PIDS[waiter]}"
  let_go holder
  attempt -k "$K" -n -- touch "$T/ran"
  assert_equal "$status" 75
  kill -CONT "${PIDS[waiter]}"
  finish waiter
  assert_success
  assert_output ran
  [[ ! -e $T/ran ]]
}

@test "a long wait at a quorum needs little memory, and the turn comes as before" {
  start_quorum
  hold holder -k "$K"
  in_line waiter 1 -- echo ran
  gives_back_memory waiter
  let_go holder
  finish waiter
  assert_success
  assert_output ran
}
