#!/usr/bin/env bats
# A fleet is never upgraded at once: this version and the one before it share the keys of a Redis server.
load ../lib/rlock
load ../lib/versions

setup_file() {
  find_versions
  READABLE_PATH=$(readable_path)
  export READABLE_PATH
  FILE_SERVER=$(mktemp -d /tmp/rlock-test.XXXXXX)
  export FILE_SERVER
  start_redis "$FILE_SERVER"
}

# Looks of a waiter that nobody wakes are 12 s apart.
readonly woken=9000

hands_on() {
  local first=$1 second=$2 key=$K:$1 before
  as "$first" hold "$first" -k "$key"
  before=$(fence "$key")
  as "$second" attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line "is held by $(id -un)@"
  as "$second" queue_up "$second" "$key" 1 -- sh -c 'echo $RLOCK_FENCE; date +%s%3N'
  as "$second" attempt inspect "$key"
  assert_success
  touch "$T/$first.go"
  local released
  released=$(now_ms)
  finish "$second"
  assert_success
  assert_less "$before" "${lines[0]}"
  assert_less $((lines[1] - released)) "$woken"
  finish "$first"
  assert_success
  assert_silent
  [[ ! -e $T/ran ]]
  free "$key"
}

@test "one that holds keeps the other version out, and hands the lock on to it at once" {
  each_way hands_on
}

@test "waiters are served in the order of arrival, and fences grow, in any mix of versions" {
  local number version last=0 fence
  as old hold holder -k "$K"
  for number in {1..8}; do
    version=old
    ((number % 3 == 0)) || version=new
    as "$version" queue_up "w$number" "$K" "$number" -- sh -c "echo $number \$RLOCK_FENCE >>'$T/order'"
  done
  as new attempt inspect "$K"
  assert_success
  let_go holder
  for number in {1..8}; do
    finish "w$number"
    assert_success
  done
  assert_equal "$(cut -d ' ' -f 1 "$T/order" | paste -sd ' ')" '1 2 3 4 5 6 7 8'
  while read -r _ fence; do
    assert_less "$last" "$fence"
    last=$fence
  done <"$T/order"
}

@test "a dozen of both versions at once, and never two of them" {
  local number version
  echo 0 >"$T/count"
  for number in {1..12}; do
    version=old
    ((number % 2 == 0)) || version=new
    as "$version" start "w$number" -q -k "$K" -w 60s -- \
      sh -c 'n=$(cat "$T/count"); sleep 0.02; echo $((n + 1)) >"$T/count.$$"; mv "$T/count.$$" "$T/count"'
  done
  for number in {1..12}; do
    finish "w$number"
    assert_success
  done
  assert_equal "$(<"$T/count")" 12
  free "$K"
  queued "$K" 0
}

dies() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key" -t 2s
  as "$second" queue_up "$second" "$key" 1 -t 2s -- sh -c 'date +%s%3N'
  kill_host_of "$first"
  local died
  died=$(now_ms)
  finish "$second"
  assert_success
  assert_less $((output - died)) 6000
  as new attempt log "$key"
  assert_line --index 1 --partial 'exit 0'
  assert_line --index 2 --partial lost
}

@test "the lock of one that dies passes on to the other version" {
  each_way dies
}

dies_waiting() {
  local first=$1 second=$2 key=$K:$1
  as "$second" hold holder -k "$key"
  as "$first" queue_up "$first" "$key" 1 -- touch "$T/ran"
  as "$second" queue_up "$second" "$key" 2 -- sh -c 'date +%s%3N'
  kill -KILL "${PIDS[$first]}"
  wait_until gone "${PIDS[$first]}"
  local released
  released=$(now_ms)
  let_go holder
  finish "$second"
  assert_success
  assert_less $((output - released)) "$woken"
}

@test "the place of one that died waiting costs the other version no more than a claim" {
  each_way dies_waiting
}

leaves_the_queue() {
  local first=$1 second=$2 key=$K:$1
  as "$second" hold holder -k "$key"
  as "$first" queue_up "$first" "$key" 1 -- touch "$T/ran"
  as "$second" queue_up "$second" "$key" 2 -- echo ran
  signal INT "$first"
  finish "$first"
  assert_equal "$status" 130
  queued "$key" 1
  let_go holder
  finish "$second"
  assert_output ran
  [[ ! -e $T/ran ]]
}

@test "one that is interrupted leaves the other version's queue in order" {
  each_way leaves_the_queue
}

@test "readers of both versions run together, and a writer of either waits for all of them" {
  local version
  for version in old new; do
    as old hold reader-old -k "$K" -s
    as new hold reader-new -k "$K" -s
    as "$version" queue_up writer "$K" 1 -- sh -c 'echo $RLOCK_FENCE'
    as old start late-old -k "$K" -s -w 60s -- echo late
    wait_queued "$K" 2
    as new start late-new -k "$K" -s -w 60s -- echo late
    wait_queued "$K" 3
    let_go reader-old
    assert_success
    assert_equal "$(<"$T/writer.out")" ''
    let_go reader-new
    assert_success
    finish writer
    assert_success
    finish late-old
    assert_output late
    finish late-new
    assert_output late
  done
  free "$K"
}

@test "permits are shared by both versions, and no more than there are" {
  local first second
  while read -r first second; do
    as "$first" hold one -k "$K" --permits 2
    as "$second" hold two -k "$K" --permits 2
    as "$first" attempt -k "$K" --permits 2 -- touch "$T/ran"
    assert_equal "$status" 75
    as "$second" attempt -k "$K" --permits 2 -- touch "$T/ran"
    assert_equal "$status" 75
    as "$second" queue_up three "$K" 1 --permits 2 -- echo ran
    let_go one
    finish three
    assert_output ran
    as "$first" queue_up four "$K" 0 --permits 2 -- echo ran
    finish four
    assert_output ran
    let_go two
    assert_success
  done <<<$'old new\nnew old'
  [[ ! -e $T/ran ]]
  free "$K"
}

cancels() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key" --label mine
  as "$second" attempt cancel "$key"
  assert_success
  assert_output --partial '/mine has stopped its job and released'
  finish "$first"
  assert_equal "$status" 76
  assert_stderr_line 'was cancelled by'
  as "$first" attempt log "$key"
  assert_line --partial cancelled
}

@test "cancel asks the other version's holder to stop" {
  each_way cancels
}

takes_away() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key"
  as "$first" queue_up waiter "$key" 1 -- echo ran
  as "$second" attempt force-release --yes "$key"
  assert_success
  finish "$first"
  assert_equal "$status" 76
  assert_stderr_line 'lost the lock'
  finish waiter
  assert_output ran
}

@test "force-release takes the lock from the other version's holder, which stops its job" {
  each_way takes_away
}

replaces() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold holder -k "$key" --supersede
  as "$first" queue_up waiting "$key" 1 -- touch "$T/ran"
  as "$second" attempt -k "$key" --supersede -w 30s -- echo ran
  assert_output ran
  finish holder
  assert_equal "$status" 76
  finish waiting
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "--supersede replaces the other version's runs" {
  each_way replaces
}

@test "a lock that one version keeps with --min-hold is taken for the other, and a queue that one limits is full" {
  local first second
  while read -r first second; do
    as "$first" attempt -k "$K:$first" --min-hold 30s -- true
    as "$second" attempt -k "$K:$first" -- touch "$T/ran"
    assert_equal "$status" 75
    as "$first" hold "$first" -k "$K:full:$first"
    as "$first" queue_up waiter "$K:full:$first" 1 -- echo ran
    as "$second" attempt -k "$K:full:$first" -w 10s --max-waiters 1 -- touch "$T/ran"
    assert_equal "$status" 75
    let_go "$first"
    finish waiter
    assert_output ran
  done <<<$'old new\nnew old'
  [[ ! -e $T/ran ]]
}

remembers() {
  local first=$1 second=$2 key=$K:$1 version
  as "$first" attempt -k "$key" --label a -- sh -c 'exit 3'
  as "$second" attempt -k "$key" --label b -- sh -c 'kill -9 $$'
  as "$first" attempt -k "$key" --label c -- true
  as "$second" attempt -k "$key" --label d -- "$T/nothing"
  for version in old new; do
    as "$version" attempt log --json "$key"
    assert_success
    run jq -r '[.locks[0].runs[] | "\(.label) \(.outcome) \(.exit_code)"] | join(", ")' "$T/attempt.out"
    assert_output 'd not-started 127, c exited 0, b signalled null, a exited 3'
    as "$version" attempt overdue "$key" --within 1h
    assert_success
  done
}

@test "the record of runs is right for both versions" {
  each_way remembers
}

steps() {
  local first=$1 second=$2 key=$K:$1 token
  as "$first" attempt acquire -k "$key" --ttl 60s
  assert_success
  token=$output
  as "$second" attempt check -k "$key" --token "$token"
  assert_success
  as "$second" attempt refresh -k "$key" --token "$token" --ttl 1h
  assert_success
  assert_less 3000000 "$(redis pttl "$key")"
  as "$second" attempt acquire -k "$key" --ttl 60s
  assert_equal "$status" 75
  as "$second" attempt release -k "$key" --token "$token"
  assert_success
  free "$key"
  as "$first" attempt log "$key"
  assert_line --index 1 --partial released
  as "$first" attempt release -k "$key" --token "$token"
  assert_equal "$status" 76
}

@test "steps: one acquires, the other checks, refreshes and releases" {
  each_way steps
}

# The job's own rlock may be another one than that which runs it: it was upgraded meanwhile.
nests() {
  local outer=$1 inner=$2 bin=$NEW_BIN
  [[ $inner == new ]] || bin=$PREVIOUS_BIN
  as "$outer" attempt -k "$K:$outer" -- "$bin" -k "$K:$outer" -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  if [[ $inner == new ]]; then
    assert_stderr_line 'the run around this command'
  else
    assert_stderr_line 'the run that this command is part of'
  fi
  as "$outer" attempt -k "$K:$outer" -- "$bin" -k "$K:$outer" --reentrant -- echo ran
  assert_output ran
  as "$outer" attempt -k "$K:$outer" -- "$bin" -k "$K:other" -- echo ran
  assert_output ran
  [[ ! -e $T/ran ]]
}

@test "a run inside a job of the other version knows what that holds" {
  each_way nests
}

told='echo "$RLOCK_SLOT $RLOCK_ATTEMPT"'

slots() {
  local first=$1 second=$2 key=$K:$1
  as "$first" attempt -k "$key" --slot one -- sh -c "$told; exit 4"
  assert_output 'one 1'
  as "$second" attempt -k "$key" --slot one --share -- touch "$T/ran"
  assert_equal "$status" 4
  as "$first" hold "$first" -k "$key" --slot two
  as "$second" queue_up "$second" "$key" 1 --slot two --share -- touch "$T/ran"
  let_go "$first"
  finish "$second"
  assert_success
  as "$first" hold "$first" -k "$key" --slot three -t 2s
  as "$second" queue_up "$second" "$key" 1 --slot three -- sh -c "$told"
  kill_host_of "$first"
  finish "$second"
  assert_output 'three 2'
  as "$first" attempt -k "$key" --slot four --retry 1 -- false
  as "$second" attempt -k "$key" --slot four --retry 1 -- sh -c "$told"
  assert_output 'four 2'
  [[ ! -e $T/ran ]]
}

@test "slots: what one did is done for the other; one is the other's spare" {
  each_way slots
}

# Also what a version that knows no slots does, which it cannot be asked to.
ignores_slots() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key" --slot s -t 2s
  as "$second" queue_up plain "$key" 1 -- echo plain
  as "$first" queue_up spare "$key" 2 --slot s -- sh -c "$told"
  kill_host_of "$first"
  finish plain
  assert_output plain
  finish spare
  assert_output 's 2'
  as "$second" attempt -k "$key" -- echo plain
  assert_output plain
  as "$first" attempt -k "$key" --slot s -- touch "$T/ran"
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a run without a slot is no end of a slot, and is not kept out by one" {
  each_way ignores_slots
}
