#!/usr/bin/env bats
# --slot on several servers: done where one of them says so, and each run has one number.
load ../../lib/rlock
load ../../lib/quorum

# told: what a job is told of its slot.
told='echo "$RLOCK_SLOT $RLOCK_ATTEMPT"'

# spare NAME ARG...: one that waits.
spare() {
  local name=$1
  shift
  start "$name" -k "$K" -w 60s --slot s "$@"
  wait_until says "$T/$name.err" 'waiting for'
}

# slot_at NUMBER: what that server knows of the slot s.
slot_at() {
  node "$1" get "{$K}:rlock:slot:s"
}

slot_at_is() {
  local number=$1 state=$2 attempt=$3
  [[ $(slot_at "$number") == "$state"$'\t'"$attempt"$'\t'* ]]
}

@test "a slot is done for later runs, whichever server is silent then" {
  local number
  start_quorum
  attempt -k "$K" --slot s -- sh -c "$told; exit 3"
  assert_equal "$status" 3
  assert_output 's 1'
  for number in 0 1 2; do
    pause_redis "${NODES[number]}"
    attempt -k "$K" --slot s --share -- touch "$T/ran"
    assert_equal "$status" 3
    resume_redis "${NODES[number]}"
  done
  [[ ! -e $T/ran ]]
  wait_until on_nodes "$K" 0
}

@test "one server that knows the slot to be done is enough, and nothing stays behind on the others" {
  local number
  start_quorum
  attempt -k "$K" --slot s -- true
  for number in 1 2; do
    wait_until slot_at_is "$number" "done" 1
    node "$number" del "{$K}:rlock:slot:s" >/dev/null
  done
  attempt -k "$K" --slot s -w 10s -- touch "$T/ran"
  assert_success
  assert_silent
  [[ ! -e $T/ran ]]
  wait_until on_nodes "$K" 0
  wait_until on_nodes "{$K}:rlock:slot:s" 1
  node 3 del "{$K}:rlock:slot:s" >/dev/null
  attempt -k "$K" --slot s -- sh -c "$told"
  assert_output 's 1'
}

@test "a spare takes over when the holder's host dies, and those behind it hear that it is done" {
  start_quorum
  hold holder -k "$K" --slot s -t 2s
  spare first --share -- sh -c "$told; exit 4"
  spare second --share -- sh -c "$told; exit 4"
  kill -9 "${PIDS[holder]}" "$(guardian_of holder)"
  finish first
  assert_equal "$status" 4
  finish second
  assert_equal "$status" 4
  # One of them ran: which one, nobody decides.
  assert_equal "$(cat "$T/first.out" "$T/second.out")" 's 2'
}

@test "runs for a slot that a server missed do not make their number smaller" {
  local run number
  start_quorum
  for run in 1 2 3 4; do
    number=$((run % 3))
    pause_redis "${NODES[number]}"
    attempt -k "$K" --slot s --retry 3 -- sh -c "$told; exit 9"
    assert_equal "$status" 9
    assert_output "s $run"
    resume_redis "${NODES[number]}"
  done
  attempt -k "$K" --slot s --retry 3 --share -- touch "$T/ran"
  assert_equal "$status" 9
  [[ ! -e $T/ran ]]
}

@test "a server that missed a run for a slot remembers the next one with its right number" {
  start_quorum
  pause_redis "${NODES[2]}"
  attempt -k "$K" --slot s --retry 2 -- false
  assert_equal "$status" 1
  resume_redis "${NODES[2]}"
  node 3 del "{$K}:rlock:slot:s" "{$K}:rlock:runs" >/dev/null
  attempt -k "$K" --slot s --retry 2 -- sh -c "$told"
  assert_output 's 2'
  wait_until line_of_node_says_attempt 3 2
}

# The newest run there, which has ended.
line_of_node_says_attempt() {
  local number=$1 attempt=$2
  node "$number" lindex "{$K}:rlock:runs" 0 | awk -F '\t' -v n="$attempt" '{ exit $6 != n || NF < 8 }'
}

@test "a server that lost its data hears of the slot again with the refresh" {
  start_quorum
  attempt -k "$K" --slot s --retry 5 -- false
  hold holder -k "$K" --slot s --retry 5 -t 3s
  wait_until slot_at_is 1 running 2
  node 1 flushall >/dev/null
  wait_until slot_at_is 1 running 2
  let_go holder
  wait_until slot_at_is 1 'done' 2
}

@test "a server that never heard which fence the run has remembers it with the right one" {
  local fence number
  start_quorum
  hold holder -k "$K" --slot s
  fence=$(json 'd["fence"]' inspect --json "$K")
  for number in 1 2 3; do
    node "$number" eval 'redis.call("SET", KEYS[1], "7 " .. redis.call("GET", KEYS[2]))
      redis.call("LSET", KEYS[3], 0, "7" .. redis.call("LINDEX", KEYS[3], 0):match("\t.*"))' 3 \
      "{$K}:rlock:fence" "$K" "{$K}:rlock:runs" >/dev/null
  done
  let_go holder
  for number in 1 2 3; do
    wait_until slot_at_is "$number" 'done' 1
    [[ $(slot_at "$number") == *$'\t'"$fence"$'\t'* ]]
    [[ $(node "$number" lindex "{$K}:rlock:runs" 0) == "$fence"$'\t'* ]]
  done
}

@test "a server that missed the grant hears what became of the slot, and another one that heard nothing is no loss" {
  local number
  start_quorum
  # As if the third server had missed the grant, and the first one misses the release.
  hold holder -k "$K" --slot s -t 9s --status-file "$T/status"
  node 3 del "$K" "{$K}:rlock:slot:s" "{$K}:rlock:fence" "{$K}:rlock:runs" >/dev/null
  pause_redis "${NODES[0]}"
  let_go holder
  assert_success
  resume_redis "${NODES[0]}"
  for number in 2 3; do
    wait_until slot_at_is "$number" 'done' 1
  done
  [[ $(<"$T/status") != *lost_why* ]] || [[ $(<"$T/status") == *'"lost_why": null'* ]]
  [[ $stderr != *'had lost'* ]]
  pause_redis "${NODES[1]}"
  attempt -k "$K" --slot s -- touch "$T/ran"
  resume_redis "${NODES[1]}"
  [[ ! -e $T/ran ]]
}

@test "a claim that is turned away is no run for its slot" {
  start_quorum
  node 1 set "$K" foreign >/dev/null
  node 2 set "$K" foreign >/dev/null
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 75
  wait_until on_nodes "{$K}:rlock:slot:s" 0
  node 1 del "$K" >/dev/null
  attempt -k "$K" --slot s -- sh -c "$told"
  assert_output 's 1'
}

@test "a lock that one server of three calls taken away is not lost, if its holder ends it" {
  start_quorum
  hold holder -k "$K" --slot s -t 60s
  attempt -S "unix://${NODES[0]}/redis.sock" force-release --yes --wait 0s "$K"
  let_go holder
  assert_success
  attempt overdue "$K" --within 1h
  assert_success
}

# fails NAME ARG...: a run for the slot, with one retry or RETRIES, that goes on until it is let go and then fails. The
# first server's traffic about it goes to $T/wire.
fails() {
  local name=$1
  shift
  launch watch redis-cli -s "${NODES[0]}/redis.sock" monitor
  wait_until says "$T/watch.out" OK
  rm -f "$T/$name.go"
  start "$name" -k "$K" --slot s --retry "${RETRIES:-1}" "$@" -- "$LIB/until-file" "$T/$name.go" 9
  wait_until says "$T/$name.out" started
}

# told_first WORDS: the last command with these words that the first server was told: EVAL where it did not know the script.
told_first() {
  local words=$1
  grep -iE '"eval(sha)?"' "$T/watch.out" | grep -F "$words" | tail -n 1 | sed 's/^[^"]*//'
}

# stop_watching: once the first server was told that the run has failed.
stop_watching() {
  wait_until told '"failed"'
  kill "${PIDS[watch]}"
  wait_until gone "${PIDS[watch]}"
}

told() { [[ -n $(told_first "$1") ]]; }

# hears_again COMMAND: the first server hears it once more, late.
hears_again() {
  local command=$1
  [[ -n $command ]]
  run -0 node 1 <<<"$command"
  refute_output --partial ERR
}

becomes_foreign() {
  local number=$1
  [[ $(node "$number" set "$K" foreign NX) == OK ]]
}

# bids_in_vain: a claim that the first server grants, which takes it back, because it is the only one.
bids_in_vain() {
  local number
  for number in 2 3; do
    wait_until becomes_foreign "$number"
  done
  attempt -k "$K" --slot s --retry 1 -- touch "$T/ran"
  assert_equal "$status" 75
  for number in 2 3; do node "$number" del "$K" >/dev/null; done
}

@test "a release that is heard again after the next claim was taken back uses up no retry" {
  start_quorum
  fails first
  let_go first
  bids_in_vain
  wait_until slot_at_is 1 open 1
  stop_watching
  hears_again "$(told_first '"failed"')"
  slot_at_is 1 open 1
  attempt -k "$K" --slot s --retry 1 -- sh -c "$told"
  assert_success
  assert_output 's 2'
}

@test "a release that is heard again after a late claim of the same run uses up no retry" {
  start_quorum
  fails first
  let_go first
  wait_until slot_at_is 1 open 1
  stop_watching
  hears_again "$(told_first '"ttl" "30000" "confirm_within"')"
  slot_at_is 1 running 1
  hears_again "$(told_first '"failed"')"
  slot_at_is 1 open 1
  assert_equal "$(node 1 exists "$K")" 0
  attempt -k "$K" --slot s --retry 1 -- sh -c "$told"
  assert_output 's 2'
}

@test "a release is no end of the slot where the server has heard the end of a later run" {
  local RETRIES=2 claim release later
  start_quorum
  fails first
  let_go first
  wait_until slot_at_is 1 open 1
  stop_watching
  claim=$(told_first '"ttl" "30000" "confirm_within"')
  release=$(told_first '"failed"')
  fails second
  let_go second
  wait_until slot_at_is 1 open 2
  stop_watching
  later=$(told_first '"failed"')
  # The first run had that server, the second one the others.
  node 1 flushall >/dev/null
  hears_again "$claim"
  slot_at_is 1 running 1
  hears_again "$later"
  slot_at_is 1 running 3
  hears_again "$release"
  assert_equal "$(slot_at 1 | cut -f 1-3)" $'open\t2\t2' # two have failed, and none is counted twice
}

@test "a fence that is raised late does not begin a run again that has ended" {
  local raise='"ttl" "9000" "history" "691200000" "attempt" "1" "failures" "0"'
  start_quorum
  fails first -t 9s --min-hold 1h # a busy machine needs some of that
  node 1 flushall >/dev/null
  wait_until slot_at_is 1 running 1
  wait_until says "$T/watch.out" "$raise"
  let_go first
  wait_until slot_at_is 1 open 1
  stop_watching
  hears_again "$(told_first "$raise")"
  slot_at_is 1 open 1
}
