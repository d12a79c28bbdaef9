#!/usr/bin/env bats
# Several --server, of which one is late: what it says too late, and what it is left with.
load ../../lib/rlock
load ../../lib/quorum

# slow_third MS: the answers of the third server come so much later. It knows the script that takes locks, as a server
# does that is in use.
slow_third() {
  attempt acquire -S "unix://${NODES[2]}/redis.sock" -k "$K:known" --ttl 60s
  assert_success
  use_server "${NODES[2]}"
  start_proxy
  proxy delay "$1"
  export RLOCK_SERVER="unix://${NODES[0]}/redis.sock unix://${NODES[1]}/redis.sock unix://${NODES[2]}/proxy.sock"
}

fence_of_job() {
  tr '\0' '\n' <"/proc/$(job_of holder)/environ" | sed -n 's/^RLOCK_FENCE=//p'
}

# one_fence: the job's, a nested run's and that of inspect are the same, also with one server gone.
one_fence() {
  local fence
  fence=$(fence_of_job)
  kill_redis "${NODES[0]}"
  assert_equal "$(json 'd["fence"]' inspect --json "$K")" "$fence"
  let_go holder
  assert_success
  assert_output --partial "nested $fence"
}

@test "all servers give one fence: the late one's number was higher" {
  start_quorum
  node 3 set "{$K}:rlock:fence" '9000000000000000 x' >/dev/null
  slow_third 15
  hold_nested
  one_fence
  stop_proxy
}

@test "all servers give one fence: the late one's number was lower" {
  start_quorum
  node 1 set "{$K}:rlock:fence" '9000000000000000 x' >/dev/null
  node 2 set "{$K}:rlock:fence" '9000000000000000 x' >/dev/null
  slow_third 15
  hold_nested
  wait_until third_has "$(fence_of_job)"
  one_fence
  stop_proxy
}

# third_has FENCE: it was told the number of the grant.
third_has() {
  [[ $(node 3 get "{$K}:rlock:fence") == "$1 "* ]]
}

# hold_nested: as hold, but when it is let go the job says what fence a nested run has.
hold_nested() {
  # shellcheck disable=SC2016
  start holder -k "$K" -- sh -c 'echo started; while [ ! -e "$T/holder.go" ]; do sleep 0.02; done
    echo nested $("$RLOCK_BIN" --reentrant -k "$K" -- sh -c "echo \$RLOCK_FENCE")'
  wait_until says "$T/holder.out" started
  wait_until on_nodes "$K" 3
}

# wait_in_vain: a waiter that tries again and again, as the first two servers have another's lock; token is of its
# first try.
wait_in_vain() {
  local all=$RLOCK_SERVER
  node 1 set "$K" other >/dev/null
  node 2 set "$K" other >/dev/null
  use_server "${NODES[2]}"
  watch_wire "$T/wire"
  export RLOCK_SERVER=$all
  start waiter -k "$K" -w 20s -- echo ran
  wait_until tokens_on_wire "$T/wire" 1
  token=$(grep -oE '[^" ]+#[0-9a-f]{40}' "$T/wire" | head -n 1)
}

@test "a late effect of an earlier try that was taken back is taken back by the next" {
  local token
  start_quorum
  wait_in_vain
  end_watching
  # The shell is the server: it has only now come to the first try.
  until [[ $(node 3 set "$K" "$token" nx px 60000) == OK ]]; do :; done
  node 1 del "$K" >/dev/null
  finish waiter
  assert_success
  assert_output ran
}

@test "another run's claim is not taken back, however much its token is like ours" {
  local token number others
  start_quorum
  wait_in_vain
  others="${token%#*}#$(printf '%040d' 7)"
  for number in 1 2; do
    node "$number" set "$K" "$others" px 60000 >/dev/null
  done
  sleep 1.5 # it looks two or five times a second at what is no rlock's
  end_watching
  for number in 1 2; do
    assert_equal "$(node "$number" get "$K")" "$others"
    node "$number" del "$K" >/dev/null
  done
  finish waiter
  assert_success
}

# not_asked_again [FAULT]: what a waiter for two keys does after the third server did not hear that its try was off. With a
# fault, that one happens to the server before.
not_asked_again() {
  local fault=${1:-} unheard release='\r\nrelease\r\n' # the argument: a script's text has the word as well
  start_quorum
  node 1 set "$K:a" other >/dev/null
  node 2 set "$K:a" other >/dev/null
  slow_third 0
  watch_wire "$T/wire"
  # shellcheck disable=SC2086
  proxy ${fault:-drop-request "$release"}
  # shellcheck disable=SC2016
  start waiter -k "$K:a" -k "$K:b" -w 30s -- sh -c 'echo "$RLOCK_TOKEN" >"$T/ran"'
  if [[ -n $fault ]]; then
    wait_until says "$T/proxy.log" "${fault%-reply}ed reply"
    proxy drop-request "$release"
  fi
  wait_until says "$T/proxy.log" 'dropped request'
  end_watching
  # The first try's: a later one may be at the server by now.
  unheard=$(grep -oE '[^" ]+#[0-9a-f]{40}' "$T/wire" | head -n 1)
  [[ -n $unheard ]]
  proxy pass
  # Now the third one would make two.
  node 1 del "$K:a" >/dev/null
  sleep 1
  # On a busy machine another one may also have been late; then all are asked, with another token.
  [[ ! -e $T/ran || $(<"$T/ran") != "$unheard" ]]
  node 2 del "$K:a" >/dev/null
  finish waiter
  assert_success
  stop_proxy
}

@test "several keys: a server that may not have heard of a try's end is not asked again with their token" {
  not_asked_again
}

@test "the same, where it is sent the whole script: an answer of it was lost before" {
  not_asked_again swallow-reply
}

@test "a failed claim leaves nothing at a late server" {
  start_quorum
  kill_redis "${NODES[0]}"
  kill_redis "${NODES[1]}"
  slow_third 150
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  PATIENCE=10 wait_until third_is_free # its lease would be there for thirty seconds
  stop_proxy
}

third_is_free() {
  [[ $(node 3 exists "$K") == 0 ]]
}

@test "a run that ends leaves nothing at a server that is late" {
  start_quorum
  slow_third 30
  attempt -k "$K" -- true
  assert_success
  PATIENCE=10 wait_until on_nodes "$K" 0
  stop_proxy
}

@test "one that holds it is told from too few servers, although one is gone and another is late" {
  start_quorum
  slow_third 200
  hold holder -k "$K" --ttl 20s
  wait_until on_nodes "$K" 3
  kill_redis "${NODES[0]}"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  assert_success
  stop_proxy
}
