#!/usr/bin/env bats
# zk://: the memory of runs, and slots: nodes that are written in the transactions that grant and release.
load ../../lib/rlock
load ../../lib/zookeeper
load ../../lib/line

setup_file() {
  OWN_SERVERS=()
  start_zookeeper
  export FILE_SERVERS="${OWN_SERVERS[*]}" FILE_URL=$RLOCK_SERVER ZK_PORT
}

teardown_file() {
  stop_redis "$FILE_SERVERS"
  rm -rf "$FILE_SERVERS"
}

use_server() { export RLOCK_SERVER=$FILE_URL; }

# outcomes: of the key's runs, the newest first: "exited 0 lost".
outcomes() {
  json '" ".join(r["outcome"] + ("" if r["exit_code"] is None else " %d" % r["exit_code"]) for l in d["locks"] for r in l["runs"])' \
    log --json "$K"
}

outcomes_are() {
  local wanted=$1
  [[ $(outcomes) == "$wanted" ]]
}

# wait_behind NAME PLACE ARG...: a waiter in the queue.
wait_behind() {
  local name=$1 place=$2
  shift 2
  start "$name" -k "$K" -w 60s "$@"
  wait_until in_line "$place"
}

# kill_host NAME: rlock, its guardian and so its job.
kill_host() {
  local name=$1
  kill -9 "${PIDS[$name]}" "$(guardian_of "$name")"
}

# told: what a job is told of its slot.
told='echo "$RLOCK_SLOT $RLOCK_ATTEMPT"'

@test "how each run ended, with whose fence: codes, signals, a command that could not be run" {
  local fence
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  fence=$output
  attempt -k "$K" -- sh -c 'exit 3'
  attempt -k "$K" -- sh -c 'kill -9 $$'
  attempt -k "$K" -- "$T/nothing"
  run outcomes
  assert_output 'not-started 127 signalled exited 3 exited 0'
  assert_equal "$(json 'd["locks"][0]["runs"][3]["fence"]' log --json "$K")" "$fence"
  assert_equal "$(json 'd["locks"][0]["runs"][0]["why"]' log --json "$K")" 'No such file or directory'
}

@test "the log tells who, when, how long it waited and held the lock" {
  local fence
  hold first -k "$K"
  # shellcheck disable=SC2016
  wait_behind second 1 --label two -- sh -c 'sleep 0.5; echo $RLOCK_FENCE'
  sleep 0.7
  let_go first
  finish second
  fence=$output
  attempt log --json "$K"
  run jq -e --argjson fence "$fence" '.locks[0].runs[0] | .fence == $fence and .label == "two" and .host != null and
    .waited_ms >= 700 and .waited_ms < 30000 and .held_ms >= 500 and .held_ms < 20000 and
    .ended_ms_ago <= .granted_ms_ago - 500' "$T/attempt.out"
  assert_success
}

@test "a run that goes on, and one whose host died: nobody has to clean up" {
  hold holder -k "$K" -t 1s
  run outcomes
  assert_output running
  assert_equal "$(json 'd["last_run"]["outcome"]' inspect --json "$K")" running
  kill_host holder
  wait_until outcomes_are lost
  attempt -k "$K" -w 20s -- true
  run outcomes
  assert_output 'exited 0 lost'
  assert_equal "$(json 'd["last_run"]["outcome"]' inspect --json "$K")" exited
}

@test "cancelled, overrun, force-released: and why" {
  hold cancelled -k "$K"
  wait_until rlock cancel -q --wait 5s --reason 'wrong branch' "$K" 2>/dev/null
  finish cancelled
  attempt -k "$K" --max-hold 500ms --grace 100ms -- sleep 60
  hold taken -k "$K"
  attempt force-release --yes --reason 'three in the morning' "$K"
  finish taken
  run outcomes
  assert_output 'lost overran cancelled'
  run json '[r["why"] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output --regexp '^\["force-released by .*: three in the morning", ".*--max-hold 500ms", "cancelled by .*: wrong branch"\]$'
}

@test "a failed claim leaves no run" {
  hold holder -k "$K"
  attempt -k "$K" -- true
  attempt -k "$K" -w 200ms -- true
  attempt -k "$K:other" -k "$K" -- true
  let_go holder
  run outcomes
  assert_output 'exited 0'
  K=$K:other run outcomes
  assert_output ''
}

@test "readers each have a run" {
  hold one -k "$K" -s
  hold two -k "$K" -s
  let_go one
  run outcomes
  assert_output 'running exited 0'
  let_go two
}

@test "at most fifty are remembered, and a release removes what is more" {
  local i before
  start_zookeeper
  before=$(node_count)
  attempt -k "$K" -- sh -c 'exit 4'
  for i in {1..59}; do rlock -k "$K" -- true; done
  assert_equal "$(outcomes | wc -w)" 100
  [[ $(outcomes) != *4* ]]
  # /rlock, the key's node, that of its runs, and these; the last one need not wait until the oldest is removed.
  assert_less "$(node_count)" "$((before + 55))"
}

node_count() { four_letters "$ZK_PORT" srvr | sed -n 's/^Node count: //p'; }

@test "a run among readers that took long is remembered, however many began since" {
  hold long -s -k "$K"
  local fence from took
  fence=$(json 'd["fence"]' inspect --json "$K")
  from=$(now_ms)
  for i in {1..52}; do rlock -s -k "$K" -- false || true; done
  took=$(($(now_ms) - from))
  let_go long
  assert_success
  attempt overdue "$K" --within 1h
  assert_success
  assert_equal "$(json 'd["locks"][0]["runs"][0]["fence"]' log --json "$K")" "$fence"
  assert_less $((took - 10)) "$(json 'd["locks"][0]["runs"][0]["held_ms"]' log --json "$K")" # two clocks: to the millisecond
}

@test "a run older than its --history is not shown, and the next run deletes it" {
  attempt -k "$K" --history 0 -- true
  run outcomes
  assert_output ''
  attempt -k "$K" --history 200ms -- true
  sleep 0.3
  run outcomes
  assert_output ''
  attempt -k "$K" --history 1h -- sh -c 'exit 2'
  attempt -k "$K" --history 0 -- false
  run outcomes
  assert_output 'exited 2'
  hold holder -k "$K" --history 100ms -t 3s
  sleep 0.3
  run outcomes
  assert_output 'running exited 2'
  let_go holder
}

@test "overdue: never, failed, in time" {
  attempt overdue "$K" --within 1h
  assert_equal "$status" 1
  attempt -k "$K" -- false
  attempt overdue "$K" --within 1h
  assert_equal "$status" 1
  attempt -k "$K" -- true
  attempt overdue "$K" --within 1h
  assert_success
  attempt -q log -n 1 "$K*"
  assert_equal "${#lines[@]}" 2
}

@test "a grant whose answer was lost is found again: one run, with its fence" {
  start_zookeeper_proxy
  proxy drop-reply x-
  # shellcheck disable=SC2016
  attempt -S "$PROXIED" -k "$K" -w 20s -- sh -c 'echo $RLOCK_FENCE'
  assert_success
  says "$T/proxy.log" 'dropped reply'
  assert_equal "$(json '[[r["outcome"], r["fence"]] for r in d["locks"][0]["runs"]]' log --json "$K")" "[[\"exited\", $output]]"
  stop_proxy
}

@test "the first run of a key is remembered, whichever answer is lost on the way" {
  local nth
  start_zookeeper_proxy
  for nth in {1..14}; do
    proxy drop-nth "$nth"
    attempt -S "$PROXIED" -k "$K$nth" -w 20s -- true
    assert_success
    assert_equal "$(K=$K$nth outcomes)" 'exited 0'
  done
  (($(grep -c 'dropped reply' "$T/proxy.log") >= 8))
  stop_proxy
}

@test "a release whose answer was lost has told how the run ended" {
  start_zookeeper_proxy
  hold holder -S "$PROXIED" -k "$K"
  proxy drop-reply exited
  let_go holder
  assert_success
  assert_silent
  says "$T/proxy.log" 'dropped reply'
  run outcomes
  assert_output 'exited 0'
  stop_proxy
}

@test "a claim of which nobody heard what became leaves no run" {
  hold one -k "$K" --shared
  start_zookeeper_proxy
  proxy swallow-reply s-
  attempt -S "$PROXIED" -k "$K" --shared -w 1s --ttl 30s -- touch "$T/ran"
  assert_equal "$status" 69
  says "$T/proxy.log" 'swallowed reply'
  run outcomes
  assert_output running
  let_go one
  stop_proxy
  [[ ! -e $T/ran ]]
}

@test "an uncontended run is as few packets as it can be" {
  local before
  start_zookeeper
  rlock -k "$K" -- true
  before=$(packets)
  rlock -k "$K" -- true
  # The session, the look; the claim with its run, and what is read with it: four; the release, with a look at the
  # oldest run; the goodbye. And our own question.
  assert_equal "$(($(packets) - before))" 10
}

packets() { four_letters "$ZK_PORT" srvr | sed -n 's/^Received: //p'; }

# ---- slots --------------------------------------------------------------------------------------------------------

@test "a slot: the first run does it, later ones find it done" {
  attempt -k "$K" --slot 2026-11-24 -- sh -c "$told; exit 7"
  assert_equal "$status" 7
  assert_output '2026-11-24 1'
  attempt -k "$K" --slot 2026-11-24 -- touch "$T/ran"
  assert_success
  assert_one_stderr_line "'$K' is done for the slot '2026-11-24': exit 7, "
  attempt -k "$K" --slot 2026-11-24 --share -w 10s --status-file "$T/file" -- touch "$T/ran"
  assert_equal "$status" 7
  run jq -e '.outcome == "done" and .slot == "2026-11-24" and .attempt == 1 and .done.exit_code == 7 and
    .done.ended_ms_ago < 60000' "$T/file"
  assert_success
  attempt -k "$K" --slot 'another / one' -- sh -c "$told"
  assert_output 'another / one 1'
  [[ ! -e $T/ran ]]
}

@test "spares that wait run nothing when the holder ends, and a wait for something else goes on" {
  local i
  hold holder -k "$K" --slot s
  for i in 1 2 3; do wait_behind "spare$i" "$i" --slot s --share -- touch "$T/ran"; done
  wait_behind other 4 --slot t -- sh -c "$told"
  wait_behind plain 5 -- echo plain
  let_go holder
  for i in 1 2 3; do
    finish "spare$i"
    assert_success
  done
  finish other
  assert_output 't 1'
  finish plain
  assert_output plain
  [[ ! -e $T/ran ]]
}

@test "a spare takes over when the holder's host dies, and is told that it is not the first" {
  hold holder -k "$K" --slot s -t 1s
  wait_behind spare 1 --slot s -- sh -c "$told; exit 4"
  wait_behind second 2 --slot s --share -- touch "$T/ran"
  kill_host holder
  finish spare
  assert_equal "$status" 4
  assert_output 's 2'
  finish second
  assert_equal "$status" 4
  run json '[[r["slot"], r["attempt"], r["outcome"]] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output '[["s", 2, "exited"], ["s", 1, "lost"]]'
  [[ ! -e $T/ran ]]
}

@test "a single attempt that comes while it runs is turned away" {
  hold holder -k "$K" --slot s
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  [[ ! -e $T/ran ]]
}

@test "--retry: a run that failed leaves it open for so many more" {
  local i
  for i in 1 2 3; do
    attempt -k "$K" --slot s --retry 2 -- sh -c "$told; exit 9"
    assert_equal "$status" 9
    assert_output "s $i"
  done
  attempt -k "$K" --slot s --retry 2 --share -- touch "$T/ran"
  assert_equal "$status" 9
  [[ ! -e $T/ran ]]
}

@test "told to end, taken away, cancelled, not started: what that is to a slot" {
  hold holder -k "$K" --slot s
  wait_behind spare 1 --slot s -- sh -c "$told"
  signal TERM holder
  finish holder
  finish spare
  assert_output 's 2'
  hold holder -k "$K" --slot t
  wait_behind spare 1 --slot t -- sh -c "$told"
  attempt force-release --yes "$K"
  finish holder
  finish spare
  assert_output 't 2'
  hold holder -k "$K" --slot u
  wait_behind spare 1 --slot u --share -- touch "$T/ran"
  wait_until rlock cancel -q --wait 5s "$K" 2>/dev/null
  finish holder
  finish spare
  assert_equal "$status" 76
  attempt -k "$K" --slot v -- "$T/nothing"
  attempt -k "$K" --slot v -- sh -c "$told"
  assert_output 'v 2'
  [[ ! -e $T/ran ]]
}

@test "a slot is kept as long as --history" {
  attempt -k "$K" --slot s --history 300ms -- true
  sleep 0.4
  attempt -k "$K" --slot s --history 1h -- sh -c "$told"
  assert_output 's 1'
}

@test "many slots of a key do not pile up" {
  local i
  start_zookeeper
  for i in {1..40}; do rlock -k "$K" --slot "s$i" --history 100ms -- true; done
  # Of each a run and a slot, if nobody removed any.
  assert_less "$(node_count)" 45
}

@test "a spare whose grant was not heard has it once" {
  start_zookeeper_proxy
  hold holder -k "$K" --slot s
  wait_behind spare 1 -S "$PROXIED" --slot s -- sh -c "$told"
  proxy drop-reply running
  signal TERM holder
  finish holder
  finish spare
  assert_success
  assert_output 's 2'
  says "$T/proxy.log" 'dropped reply'
  run json '[[r["slot"], r["attempt"], r["outcome"]] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output '[["s", 2, "exited"], ["s", 1, "signalled"]]'
  stop_proxy
}
