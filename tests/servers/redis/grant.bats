#!/usr/bin/env bats
# The grant and the release under faults of the network: a grant is counted from before the question.
load ../../lib/rlock

setup_faults() {
  own_server
  start_proxy
  rlock -k "$K" -- true # the server knows the scripts now
}

nothing_held() {
  wait_free "$K"
  [[ ! -e $T/ran ]]
}

@test "a grant that comes later than its lease lasts is none, and is given back" {
  setup_faults
  proxy delay 500
  attempt -k "$K" -t 300ms -- touch "$T/ran"
  proxy pass
  [[ $status -eq 69 || $status -eq 75 ]] || fail "exit $status"
  nothing_held
  stop_proxy
}

@test "a late grant is tried again while there is patience" {
  setup_faults
  watch_wire "$T/wire"
  proxy delay 1600
  start waiter -k "$K" -t 3s --grace 1500ms -w 60s -- echo ran
  wait_until two_questions
  # The withdrawal of the first grant may itself be late, and must not affect the second.
  wait_until tokens_on_wire "$T/wire" 2
  end_watching
  [[ ! -s $T/waiter.out ]]
  proxy pass
  finish waiter
  assert_success
  assert_output ran
  stop_proxy
}

two_questions() {
  (($(sed -n '/^mode delay/,$p' "$T/proxy.log" | grep -c '^answered') >= 2))
}

@test "validity counts from before the question: a slow answer leaves so much less" {
  local lease_end
  setup_faults
  proxy delay 700
  hold_stubborn holder -t 4s --grace 100ms
  proxy stall
  lease_end=$(redis pexpiretime "$K") # nothing reaches the server now
  finish holder
  assert_equal "$status" 76
  assert_less $(($(tail -n 2 "$T/beat" | head -n 1) / 1000)) "$lease_end"
  stop_proxy
}

@test "a grant whose answer is lost is found again by the same token: one fence, one grant" {
  local told
  setup_faults
  proxy drop-reply EVAL
  run rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE $RLOCK_TOKEN"'
  assert_success
  assert_equal "$output" "$(redis get "$(companion "$K" fence)")"
  told=$(grep -A1 -c '^dropped reply' "$T/proxy.log")
  assert_equal "$told" 1
  # The fence in the answer that was lost is the one that the job got.
  run grep -B1 '^dropped reply' "$T/proxy.log"
  assert_output --partial "$(fence "$K")"
  nothing_held
  stop_proxy
}

@test "a question that is lost is asked again" {
  setup_faults
  proxy drop-request EVAL
  run rlock -k "$K" -- echo ran
  assert_success
  assert_output ran
  stop_proxy
}

@test "a release whose answer is lost still frees the lock; the job's code stays" {
  setup_faults
  start holder -k "$K" -- "$LIB/until-file" "$T/holder.go" 6
  wait_until says "$T/holder.out" started
  proxy drop-reply release
  let_go holder
  assert_equal "$status" 6
  says "$T/proxy.log" 'dropped reply'
  nothing_held
  stop_proxy
}

@test "an operator's request is repeated when its answer is lost, and no harm is done by that" {
  setup_faults
  start holder -k "$K" -- "$LIB/until-file" "$T/holder.go" 6
  wait_until says "$T/holder.out" started
  proxy drop-reply "$K"
  run rlock inspect "$K"
  assert_success
  assert_output --partial held
  proxy drop-reply stop
  run rlock cancel "$K" --wait 20s
  assert_success
  finish holder
  assert_equal "$status" 76
  start holder -k "$K" -- "$LIB/until-file" "$T/holder.go" 6
  wait_until says "$T/holder.out" started
  proxy drop-reply force_release
  run rlock force-release --yes "$K" --wait 20s
  assert_success
  assert_output --partial "released '$K'"
  assert_output --partial 'has stopped'
  finish holder
  assert_equal "$status" 76
  stop_proxy
}

@test "a step is asked again when its answer is lost" {
  local token
  setup_faults
  token=$(rlock acquire -k "$K" --ttl 60s)
  proxy drop-reply "$K"
  run rlock refresh -k "$K" --token "$token" --ttl 50s
  assert_success
  proxy drop-reply "$K"
  run rlock check -k "$K" --token "$token"
  assert_success
  proxy drop-reply "$K"
  run rlock release -k "$K" --token "$token"
  assert_success
  nothing_held
  run rlock release -k "$K" --token "$token"
  assert_equal "$status" 76
  stop_proxy
}

@test "a run inside a job asks again when an answer is lost: --reentrant runs, without it the run is turned away" {
  setup_faults
  # shellcheck disable=SC2016
  start holder -k "$K" -- sh -c '
    "$LIB/until-file" "$T/one.go"
    "$RLOCK_BIN" --reentrant -k "$1" -- echo ran; echo "one: $?"
    "$LIB/until-file" "$T/other.go"
    "$RLOCK_BIN" -k "$1" -- echo ran; echo "other: $?"' - "$K"
  wait_until says "$T/holder.out" started
  proxy drop-reply "$K"
  touch "$T/one.go"
  wait_until says "$T/holder.out" one:
  proxy drop-reply "$K"
  touch "$T/other.go"
  finish holder
  assert_success
  assert_equal "$(grep -v started "$T/holder.out")" $'ran\none: 0\nother: 75'
  assert_equal "$(grep -c '^dropped reply' "$T/proxy.log")" 2
  stop_proxy
}

@test "a release that is lost is sent again" {
  setup_faults
  start holder -k "$K" -- "$LIB/until-file" "$T/holder.go" 6
  wait_until says "$T/holder.out" started
  proxy drop-request release
  let_go holder
  assert_equal "$status" 6
  says "$T/proxy.log" 'dropped request'
  nothing_held
  assert_silent
  stop_proxy
}

@test "refused connections while waiting are survived, and the place is kept" {
  setup_faults
  redis set "$K" other px 600000
  start waiter -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  proxy refuse
  redis del "$K"
  proxy pass
  finish waiter
  assert_success
  assert_output ran
  stop_proxy
}

@test "an interrupt while the server is silent ends the wait, and what was asked is given back" {
  setup_faults
  proxy stall
  start waiter -k "$K" -w 60s -- touch "$T/ran"
  wait_until asked_since_stall
  signal TERM waiter
  finish waiter
  assert_equal "$status" 143
  proxy pass
  nothing_held
  queued "$K" 0
  stop_proxy
}

asked_since_stall() {
  sed -n '/^mode stall/,$p' "$T/proxy.log" | grep -q '^request'
}
