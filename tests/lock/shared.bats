#!/usr/bin/env bats
# Readers and writers.
load ../lib/rlock

reader() {
  local name=$1
  shift
  hold "$name" -k "$K" -s "$@"
}

# note TEXT: a command that appends TEXT to the record of the order.
note() {
  local text=$1
  echo "echo $text >>'$T/order'"
}

@test "readers run together" {
  reader one
  reader two
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 2
  let_go one
  held "$K"
  let_go two
  assert_success
  free "$K"
}

@test "a writer waits for every reader, and readers for the writer" {
  reader one
  reader two
  queue_up writer "$K" 1 -- sh -c "$(note writer)"
  let_go one
  unsaid "$T/order" writer
  let_go two
  finish writer
  assert_success
  hold writer2 -k "$K"
  attempt -k "$K" -s -n -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  let_go writer2
}

@test "a chain of readers, a writer and readers runs in its order" {
  local number
  hold first -k "$K"
  for number in 1 2 3; do
    queue_up "reader-$number" "$K" "$number" -s -- "$LIB/until-file" "$T/readers.go"
  done
  queue_up writer "$K" 4 -- sh -c "$(note writer)"
  for number in 5 6; do
    queue_up "reader-$number" "$K" "$number" -s -- sh -c "$(note reader)"
  done
  let_go first
  for number in 1 2 3; do # all three at the same time: none ends before the file is there
    wait_until says "$T/reader-$number.out" started
  done
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 3
  [[ ! -e $T/order ]]
  touch "$T/readers.go"
  for number in 1 2 3; do finish "reader-$number"; done
  finish writer
  for number in 5 6; do finish "reader-$number"; done
  assert_equal "$(<"$T/order")" $'writer\nreader\nreader'
}

@test "a newcomer who reads does not overtake a waiting writer" {
  reader one
  queue_up writer "$K" 1 -- sh -c "$(note writer)"
  attempt -k "$K" -s -n -- sh -c "$(note barged)"
  assert_equal "$status" 75
  let_go one
  finish writer
  assert_equal "$(<"$T/order")" writer
}

@test "a foreign client keeps readers out, and readers keep a foreign client out" {
  redis set "$K" foreign px 60000
  attempt -k "$K" -s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line 'held by a foreign client'
  redis del "$K"
  reader one
  assert_equal "$(redis set "$K" mine nx px 1000)" ''
  assert_equal "$(redis get "$K")" rlock:shared
  let_go one
}

@test "a reader's fence is greater than every earlier one" {
  local first second
  reader one
  first=$(fence "$K")
  reader two
  second=$(fence "$K")
  let_go one
  let_go two
  attempt -k "$K" -- sh -c 'echo "$RLOCK_FENCE"'
  assert_less "$first" "$second"
  assert_less "$second" "$output"
}

@test "leases of readers are refreshed while their jobs run" {
  reader one --ttl 5s --grace 100ms
  reader two --ttl 6s --grace 100ms
  sleep 7 # longer than any lease
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 2
  let_go one
  assert_success
  let_go two
  assert_success
}

@test "a killed reader holds a writer up no longer than its lease" {
  reader one --ttl 4s
  reader two
  queue_up writer "$K" 1 -- echo ran
  signal KILL one
  let_go two
  finish writer
  assert_success
  assert_output ran
  finish one
}

@test "a writer passes when a killed waiting reader before it does not come" {
  hold first -k "$K"
  queue_up dead "$K" 1 -s -- touch "$T/ran"
  queue_up writer "$K" 2 -- echo ran
  signal KILL dead
  let_go first
  finish writer
  assert_success
  [[ ! -e $T/ran ]]
  finish dead
}

@test "readers pass when a killed waiting writer before them does not come" {
  reader first
  queue_up dead "$K" 1 -- touch "$T/ran"
  queue_up reader "$K" 2 -s -- echo ran
  signal KILL dead
  let_go first
  finish reader
  assert_success
  [[ ! -e $T/ran ]]
  finish dead
}

@test "a writer that gives up lets the readers behind it in at once" {
  local before
  reader first
  start writer -k "$K" -w 60s -- touch "$T/ran"
  wait_queued "$K" 1
  queue_up reader "$K" 2 -s -- echo ran
  before=$(now_ms)
  signal TERM writer
  finish writer
  assert_equal "$status" 143
  finish reader
  assert_success
  assert_less $(($(now_ms) - before)) 8000 # a heartbeat takes 12 s, the lease 30 s
  let_go first
}

@test "a reader that was taken out is told so, and the other reads on" {
  local token
  own_server
  reader one
  reader two
  wait_until listening 2
  token=$(json '[h["token"] for h in d["holders"] if h["pid"] == '"${PIDS[one]}"'][0]' inspect --json "$K")
  attempt force-release --yes --token "$token" "$K"
  assert_success
  assert_output --partial "the holder's job has stopped"
  finish one
  assert_equal "$status" 76
  assert_stderr_line 'force-released by'
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 1
  let_go two
  assert_success
}

@test "force-release takes the lock from all readers that it showed" {
  own_server
  reader one
  reader two
  wait_until listening 2
  attempt force-release --yes "$K"
  assert_success
  assert_equal "$(grep -c "^released '$K'" <<<"$output")" 2
  assert_equal "$(grep -c "the holder's job has stopped" <<<"$output")" 2
  finish one
  assert_equal "$status" 76
  finish two
  assert_equal "$status" 76
  free "$K"
}

@test "inspect and list show every reader and how who waits wants the lock" {
  reader one --label first
  reader two --label second
  queue_up writer "$K" 1 -- true
  queue_up third "$K" 2 -s -- true
  assert_equal "$(json '[d["mode"], d["permits"], [h["label"] for h in d["holders"]], [w["mode"] for w in d["waiters"]]]' \
    inspect --json "$K")" '["shared", null, ["first", "second"], ["exclusive", "shared"]]'
  attempt inspect "$K"
  assert_line --regexp '^mode +shared$'
  assert_equal "$(grep -c '^holder ' <<<"$output")" 2
  assert_line --regexp '^ +2 .*, shared, for '
  attempt list "$K"
  assert_output --partial 'first and 1 more'
  let_go one
  let_go two
  finish writer
  finish third
}

@test "the busy line says that several hold" {
  reader one
  reader two
  attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by" ' and 1 more for '
  let_go one
  let_go two
}

@test "nothing but the fence and the memory of runs is left behind" {
  reader one
  queue_up writer "$K" 1 -- true
  let_go one
  finish writer
  run redis --raw keys "*$K*"
  assert_line "$(companion "$K" fence)"
  assert_line "$(companion "$K" runs)"
  assert_equal "${#lines[@]}" 2
}

@test "--shared, --exclusive and --permits contradict each other" {
  attempt -k "$K" -s -x -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'use only one of --exclusive, --shared and --permits'
  attempt -k "$K" -s --permits 2 -- touch "$T/ran"
  assert_equal "$status" 64
  attempt -k "$K" -x --permits 2 -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
}
