#!/usr/bin/env bats
# The traffic: how many commands, and the scripts' answers when called by hand.
load ../../lib/rlock

# commands_of_run RLOCK ARG...: client commands of one run on a server that knows the scripts.
commands_of_run() {
  rlock "$@"
  watch_wire "$T/wire"
  wire_mark "$T/wire" begin
  rlock "$@"
  wire_mark "$T/wire" end
  end_watching
  wire_between "$T/wire" begin end
}

@test "an uncontended run is exactly two commands" {
  own_server
  run commands_of_run -k "$K" -- true
  assert_success
  assert_equal "${#lines[@]}" 2
}

@test "with a password, or a database, it is three" {
  own_server
  run commands_of_run -S "unix://$SERVER/redis.sock?db=1" -k "$K" -- true
  assert_success
  assert_equal "${#lines[@]}" 3
  rm -f "$T"/monitor.* "$T/wire"
  redis acl setuser locker on '>x' '+@all' '~*'
  run commands_of_run -S "unix://locker:x@$SERVER/redis.sock" -k "$K" -- true
  assert_success
  assert_equal "${#lines[@]}" 3
}

@test "a busy answer is one command" {
  own_server
  redis set "$K" other px 60000
  watch_wire "$T/wire"
  attempt -k "$K" -- true # loads the script
  wire_mark "$T/wire" begin
  attempt -k "$K" -- true
  wire_mark "$T/wire" end
  end_watching
  run wire_between "$T/wire" begin end
  assert_equal "${#lines[@]}" 1
}

@test "a hand-off is at most ten commands" {
  own_server
  hold holder -k "$K"
  start waiter -k "$K" -w 60s -- "$LIB/until-file" "$T/waiter.go"
  wait_queued "$K" 1
  watch_wire "$T/wire"
  wire_mark "$T/wire" begin
  touch "$T/holder.go"
  wait_until says "$T/waiter.out" started
  wire_mark "$T/wire" end
  run wire_between "$T/wire" begin end
  assert_less "${#lines[@]}" 11
  end_watching
  finish holder
  let_go waiter
}

@test "idle waiters send at most 0.2 commands a second each" {
  local number
  own_server
  hold holder -k "$K"
  for number in {1..10}; do
    start "waiter-$number" -k "$K" -q -w 60s -- true
  done
  wait_queued "$K" 10
  watch_wire "$T/wire"
  wire_mark "$T/wire" begin
  sleep 2 # the length of the observation, not a wait for anything
  wire_mark "$T/wire" end
  end_watching
  run wire_between "$T/wire" begin end
  assert_less "${#lines[@]}" 5 # 10 waiters * 2 s * 0.2
  let_go holder
  for number in {1..10}; do
    finish "waiter-$number"
    assert_success
  done
}

# enter ID TTL CONFIRM-WITHIN PATIENCE [TICKET]; a patience of 0 is not said
enter() {
  local id=$1 ttl=$2 confirm_within=$3 patience=$4
  local -a more=()
  ((patience == 0)) || more+=(patience "$patience")
  [[ -z ${5-} ]] || more+=(ticket "$5")
  script enter id "$id" ttl "$ttl" confirm_within "$confirm_within" "${more[@]}"
}

leave() {
  local id=$1 confirm_within=$2 how=$3
  script leave id "$id" confirm_within "$confirm_within" how "$how"
}

@test "a late confirm does not get the previous holder's fence" {
  local first second
  first=$(enter A 30000 2000 0)
  [[ $first == 'granted '* ]]
  [[ $(enter B 30000 2000 3000) == 'queued holder kind holder token A '* ]]
  assert_equal "$(leave A 20000 release)" 1
  assert_equal "$(redis get "$K")" B
  sleep 3.1 # past the 3 s for which B was believed alive, within the claim
  second=$(enter B 30000 2000 3000)
  [[ $second == 'granted '* ]] || fail "$second"
  assert_less "$(field fence "$first")" "$(field fence "$second")"
}

@test "the same id gets the same fence when its answer was lost" {
  local first
  first=$(enter A 30000 2000 0)
  assert_equal "$(enter A 30000 2000 0)" "$first again 1"
}

@test "a release of what was already released says so, and another's is not touched" {
  enter A 30000 2000 0
  assert_equal "$(leave A 2000 release)" 1
  assert_equal "$(leave A 2000 release)" 0
  enter B 30000 2000 0
  assert_equal "$(leave A 2000 release)" -1
  assert_equal "$(redis get "$K")" B
}

@test "a cancelled reservation goes to the next" {
  enter A 30000 2000 0
  enter B 30000 2000 30000
  enter C 30000 2000 30000
  leave A 2000 release
  assert_equal "$(redis get "$K")" B
  leave B 2000 cancel
  assert_equal "$(redis get "$K")" C
}

@test "a waiter whose heartbeat stopped is dropped with its mailbox" {
  enter A 30000 2000 0
  enter B 30000 2000 3000 # time for us to post
  redis rpush "$(companion "$K" mail):B" wake
  wait_until forgotten B
  assert_equal "$(redis exists "$(companion "$K" mail):B")" 0
  leave A 2000 release
  assert_equal "$(redis get "$K")" C
}

forgotten() {
  local id=$1
  enter C 30000 2000 30000 >/dev/null
  [[ -z $(redis zscore "$(companion "$K" queue)" "$id") ]]
}

@test "a ticket to come back with restores the place" {
  local ticket
  enter A 30000 2000 0
  ticket=$(field ticket "$(enter B 30000 2000 30000)")
  enter C 30000 2000 30000
  redis del "$(companion "$K" queue)" "$(companion "$K" alive)"
  enter C 30000 2000 30000
  enter B 30000 2000 30000 "$ticket"
  assert_equal "$(redis zrange "$(companion "$K" queue)" 0 0)" B
}

@test "a lock that ended while others wait is handed to the first, not to who asks" {
  enter A 3000 2000 0
  enter B 30000 2000 30000
  wait_free "$K"
  [[ $(enter C 30000 20000 0) == 'busy holder kind reserved token B '* ]]
  assert_equal "$(redis get "$K")" B
  [[ $(enter B 30000 2000 30000) == 'granted '* ]]
}

@test "the page names all that the scripts take" {
  local lua=$REPO/src/store/redis/lua name
  cat "$lua"/{enter,leave,raise}.lua "$lua"/parts/{slot,runs}.lua | grep -oP '\b(arg|run|claim)\.\K[a-z_]+' | sort -u >"$T/names"
  assert_less 20 "$(wc -l <"$T/names")"
  while read -r name; do
    grep -qw -- "$name" "$REPO/man/rlock-protocol.7" || fail "$name"
  done <"$T/names"
}
