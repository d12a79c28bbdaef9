#!/usr/bin/env bats
# This version and the one before it on stores other than a single Redis server, which mixed_versions.bats tests.
# stores: local quorum zookeeper
load ../lib/rlock
load ../lib/stores
load ../lib/versions

eval "start_store_of_$(declare -f setup_file)"
setup_file() {
  find_versions
  start_store_of_setup_file
}

hands_on() {
  local first=$1 second=$2 key=$K:$1 before released
  as "$first" hold "$first" -k "$key" --label mine
  before=$(as "$first" seen "$key" 'd["fence"]')
  as "$second" attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line /mine
  as "$second" stand_in_line "$second" "$key" -- sh -c 'echo $RLOCK_FENCE; date +%s%3N'
  touch "$T/$first.go"
  released=$(now_ms)
  finish "$second"
  assert_success
  assert_less "$before" "${lines[0]}"
  assert_less $((lines[1] - released)) 9000
  finish "$first"
  assert_success
  assert_silent
  [[ ! -e $T/ran ]]
  free "$key"
}

@test "one that holds keeps the other version out, and hands the lock on to it at once" {
  each_way hands_on
}

@test "a dozen of both versions at once, and never two of them; fences grow" {
  local number version last=0 fence
  echo 0 >"$T/count"
  for number in {1..12}; do
    version=old
    ((number % 2 == 0)) || version=new
    as "$version" start "w$number" -q -k "$K" -w 60s -- sh -c 'echo $RLOCK_FENCE >>"$T/fences"
      n=$(cat "$T/count"); sleep 0.02; echo $((n + 1)) >"$T/count.$$"; mv "$T/count.$$" "$T/count"'
  done
  for number in {1..12}; do
    finish "w$number"
    assert_success
  done
  assert_equal "$(<"$T/count")" 12
  while read -r fence; do
    assert_less "$last" "$fence"
    last=$fence
  done <"$T/fences"
}

# stands_in_line VERSION: one of it that waits is seen to do so.
stands_in_line() {
  local version=$1 key=$K:line count
  as "$version" hold holder -k "$key"
  as "$version" stand_in_line waiter "$key" -- true
  count=$(seen "$key" 'len(d["waiters"])')
  let_go holder
  finish waiter
  ((count == 1))
}

in_order() {
  local number version
  as old hold holder -k "$K"
  for number in {1..5}; do
    version=old
    ((number % 2 == 0)) || version=new
    as "$version" stand_in_line "w$number" "$K" -- sh -c "echo $number >>'$T/order'"
  done
  let_go holder
  for number in {1..5}; do
    finish "w$number"
    assert_success
  done
  order=$(paste -sd ' ' "$T/order")
}

@test "waiters are served in the order of arrival, if the store keeps one" {
  local order
  if ! can 'first come, first served'; then return; fi
  in_order
  if stands_in_line old; then
    assert_equal "$order" '1 2 3 4 5'
  else # it asks a quorum again and again
    assert_equal "$(tr ' ' '\n' <<<"$order" | sort | paste -sd ' ')" '1 2 3 4 5'
  fi
}

dies() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key" -t 2s
  as "$second" stand_in_line "$second" "$key" -t 2s -- echo ran
  kill_host_of "$first"
  touch "$T/$first.go"
  finish "$second"
  assert_success
  assert_output ran
}

@test "the lock of one that dies passes on to the other version" {
  each_way dies
}

is_taken_away() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key"
  as "$second" attempt cancel "$key"
  assert_success
  finish "$first"
  assert_equal "$status" 76
  as "$first" hold "$first" -k "$key"
  as "$second" attempt force-release --yes "$key"
  assert_success
  finish "$first"
  assert_equal "$status" 76
  free "$key"
}

@test "cancel and force-release reach the other version's holder" {
  each_way is_taken_away
}

reads() {
  local first=$1 second=$2 key=$K:$1
  as "$first" hold "$first" -k "$key" -s
  as "$second" hold "$second" -k "$key" -s
  as "$first" attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  let_go "$first"
  as "$first" attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  let_go "$second"
  assert_success
  [[ ! -e $T/ran ]]
}

# A writer of the other version waits for a reader, and a reader for it.
reads_beside_writers() {
  local key=$K:reads
  hold reader -k "$key" -s
  as old attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  as old start writer -k "$key" -w 60s -- touch "$T/wrote"
  let_go reader
  assert_success
  finish writer
  assert_success
  as old hold writer -k "$key"
  attempt -k "$key" -s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go writer
  [[ ! -e $T/ran && -e $T/wrote ]]
  free "$key"
}

@test "readers of both versions run together, where the store has readers" {
  can --shared || return 0
  as old attempt -k "$K:can" -s -- true
  # The version before may have none on this store.
  if [[ $status == 64 ]]; then reads_beside_writers; else each_way reads; fi
}

excludes() {
  local key=$K:permits
  as new hold new -k "$key" --permits 2
  as old attempt -k "$key" -- touch "$T/ran"
  assert_equal "$status" 75
  as old stand_in_line old "$key" -- echo 'my turn'
  as new attempt -k "$key" --permits 2 -n -- touch "$T/ran"
  assert_equal "$status" 75
  let_go new
  finish old
  assert_success
  assert_output 'my turn'
  as old hold old -k "$key"
  as new attempt -k "$key" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 78
  let_go old
  [[ ! -e $T/ran ]]
}

@test "on ZooKeeper the version before takes a permit for an exclusive lock, and a permit excludes its lock" {
  [[ $STORE == zookeeper ]] || return 0
  excludes
}
