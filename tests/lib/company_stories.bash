# shellcheck shell=bash
# What rlock and another client do on one key, both ways round: company_clients.bats tells each of these stories of each
# client.

# with CLIENT STORY: LOCK is what the client calls the lock, K the key that it makes of it. (Spring's is made of two
# names, with a colon between them: so is that of every test.)
with() {
  CLIENT=$1
  LOCK=$K
  if [[ $CLIENT == python_redis_lock ]]; then
    K=lock:$LOCK
  fi
  "$2"
}

# let_hold NAME: the client has the lock, for a minute; TOKEN is the key's value then, EXPIRY the end of its lease.
let_hold() {
  local name=$1
  ask "$name" acquire 60000
  assert_answer yes
  TOKEN=${answer#yes }
  EXPIRY=$(redis pexpiretime "$K")
  assert_equal "$(redis get "$K")" "$TOKEN"
}

# held_by_rlock NAME: TOKEN and EXPIRY are the holder's.
held_by_rlock() {
  local name=$1
  hold "$name" -k "$K" -t 600s
  TOKEN=$(redis get "$K")
  EXPIRY=$(redis pexpiretime "$K")
}

rlock_is_turned_away() {
  meet alice "$CLIENT" "$LOCK"
  let_hold alice
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by a foreign client (${TOKEN:0:20}"
  attempt -k "$K" -w 700ms -q -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  assert_equal "$(json '[d["holder"]["token"], d["holder"]["foreign"]]' inspect "$K" --json)" "[\"$TOKEN\", true]"
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  ask alice release
  assert_answer yes
  attempt -k "$K" -- echo ran
  assert_output ran
  part alice
}

rlock_looks_and_gets_it() {
  own_server
  meet alice "$CLIENT" "$LOCK"
  let_hold alice
  watch_wire "$T/wire"
  wire_mark "$T/wire" from
  start waiter -k "$K" -q -w 60s -- echo ran
  wait_until commands_since "$T/wire" from '"BLPOP"' 4
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  ask alice release
  assert_answer yes
  finish waiter
  assert_success
  assert_output ran
  wire_mark "$T/wire" to
  wire_between "$T/wire" from to | grep -F '"BLPOP" "{' | sed 's/.* "\([0-9.]*\)"$/\1/' >"$T/naps"
  awk '$1 < 0.2 || $1 > 0.5 { bad = 1 } END { exit bad || NR < 4 }' "$T/naps" || fail "naps: $(paste -sd' ' "$T/naps")"
  end_watching
  part alice
}

rlock_outwaits_a_crash() {
  meet alice "$CLIENT" "$LOCK"
  let_hold alice
  signal KILL alice
  start waiter -k "$K" -q -w 60s -- date +%s%3N
  wait_queued "$K" 1
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  redis pexpire "$K" 700 # most of a minute passes
  EXPIRY=$(redis pexpiretime "$K")
  finish waiter
  assert_success
  assert_less "$EXPIRY" "$((output + 1))"
  finish alice
}

client_is_turned_away() {
  meet alice "$CLIENT" "$LOCK"
  held_by_rlock holder
  ask alice acquire 60000
  assert_answer no
  ask alice acquire 60000 1000
  assert_answer no
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  let_go holder
  assert_success
  let_hold alice
  ask alice release
  assert_answer yes
  part alice
}

client_gets_it() {
  own_server
  meet alice "$CLIENT" "$LOCK"
  held_by_rlock holder
  watch_wire "$T/wire"
  wire_mark "$T/wire" from
  tell alice acquire 1000 30000
  wait_until commands_since "$T/wire" from "$LOCK" 3
  unheard alice
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  let_go holder
  assert_success
  heard alice
  assert_answer yes
  end_watching
  part alice
}

client_outwaits_a_crash() {
  meet alice "$CLIENT" "$LOCK"
  start holder -k "$K" -t 2s -- sh -c 'echo started; exec sleep 60'
  wait_until says "$T/holder.out" started
  tell alice acquire 1000 30000
  signal KILL holder
  finish holder
  heard alice
  assert_answer yes
  part alice
}

client_that_lost_it() {
  own_server
  meet alice "$CLIENT" "$LOCK"
  let_hold alice
  redis del "$K"
  held_by_rlock holder
  watch_wire "$T/wire"
  wire_mark "$T/wire" from
  ask alice extend 60000
  assert_answer no
  wait_until commands_since "$T/wire" from "$LOCK" 1
  wire_mark "$T/wire" released
  ask alice release
  assert_answer no
  wait_until commands_since "$T/wire" released "$LOCK" 1
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  end_watching
  let_go holder
  assert_success
  part alice
}

rlock_that_lost_it() {
  own_server
  meet alice "$CLIENT" "$LOCK"
  lose_to alice
  assert_untouched "$K" "$TOKEN" "$EXPIRY"
  ask alice extend 90000
  assert_answer yes
  ask alice release
  assert_answer yes
  part alice
}

counting_together() {
  local each
  echo 0 >"$T/count"
  meet alice "$CLIENT" "$LOCK"
  meet bob "$CLIENT" "$LOCK"
  launch_count one "$K" "$T/count" "$T/log" "$T/stop"
  launch_count two "$K" "$T/count" "$T/log" "$T/stop"
  tell alice count "$T/count" "$T/log" "$T/stop"
  tell bob count "$T/count" "$T/log" "$T/stop"
  wait_until turns_taken "$T/log" 4
  touch "$T/stop"
  for each in one two; do
    finish "$each"
    assert_success
    assert_output ''
  done
  for each in alice bob; do
    heard "$each"
    assert_answer 'done'
  done
  assert_equal "$(<"$T/count")" "$(wc -l <"$T/log")"
  part alice bob
}

companions() {
  own_server
  meet alice "$CLIENT" "$LOCK"
  meet bob "$CLIENT" "$LOCK"
  hold holder -k "$K" -t 600s
  start waiter -k "$K" -q -w 60s -- true
  tell alice acquire 1000 30000
  wait_queued "$K" 1
  redis keys '*' | grep -vxF -e "$K" | grep -v "^{$K}:rlock:" >"$T/foreign" || true
  [[ ! -s $T/foreign ]] || fail "not ours: $(<"$T/foreign")"
  let_go holder
  finish waiter
  assert_success
  heard alice
  assert_answer yes
  ask alice release
  wait_free "lock-signal:$LOCK" # python-redis-lock's release leaves it for a second
  only_left "$K"
  part alice bob
}
