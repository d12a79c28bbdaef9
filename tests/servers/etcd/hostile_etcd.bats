#!/usr/bin/env bats
# An etcd server that answers with anything: an error, in time, and never all of the memory.
load ../../lib/rlock
load ../../lib/hostile

# survey_etcd NAME...: every question of lib/survey.py to each of these.
survey_etcd() {
  local name
  local -a urls=() ports=()
  for name; do
    ports+=("$(free_port)=$name")
    urls+=("etcd://127.0.0.1:${ports[-1]%=*}")
  done
  start_hostile "${ports[@]}"
  survey_urls "${urls[@]}"
  all_in "${may_be[@]}"
  assert_clean "$T"/*.err "$T"/*.out
  stop_hostile
}

may_be=(1 64 69 77) # three of the questions are none to ask an etcd

@test "a server that is no etcd at all" {
  survey_etcd closed silent noise noise-forever zeros http etcd-no-gateway
}

@test "errors, and answers without a sense" {
  survey_etcd etcd-empty etcd-no-object etcd-escape etcd-no-leader etcd-no-token etcd-twice
}

@test "answers without an end" {
  survey_etcd etcd-head-without-end etcd-line-without-end etcd-body-without-end etcd-chunks-without-end \
    etcd-small-chunks etcd-interim
}

@test "answers larger than anything, half an answer, and a byte a second" {
  survey_etcd etcd-large etcd-deep etcd-wide etcd-objects etcd-half etcd-drip
}

@test "figures that no arithmetic survives" {
  # Two of them look like a cluster without keys.
  may_be+=(0)
  survey_etcd etcd-largest etcd-smallest etcd-one
  run grep -E ' (run|wait) 0 ' "$T/survey"
  assert_output ''
}

# hostile_at NAME: HOSTILE_PORT gives this answer.
hostile_at() {
  HOSTILE_PORT=$(free_port)
  rm -f "$T/hostile.control"
  start_hostile "$HOSTILE_PORT=$1"
}

@test "an etcd that hangs up at once, or knows no leader, is asked some ten times a second" {
  local before name
  for name in closed etcd-no-leader; do
    hostile_at "$name"
    start waiter -S "etcd://127.0.0.1:$HOSTILE_PORT" -k "$K" -w 60s -- true
    sleep 2
    before=$(grep -c "said $name" "$T/hostile.log" || true)
    sleep 1
    assert_less "$(($(grep -c "said $name" "$T/hostile.log" || true) - before))" 40
    signal TERM waiter
    finish waiter
    stop_hostile
  done
}

@test "one of three that means no good" {
  local name
  # shellcheck source=tests/lib/etcd.bash
  source "$LIB/etcd.bash"
  # shellcheck disable=SC2119
  start_etcd
  for name in closed silent etcd-no-leader etcd-half; do
    hostile_at "$name"
    attempt -S "etcd://127.0.0.1:$HOSTILE_PORT,127.0.0.1:$ETCD_PORT" -k "$K" -w 10s -- echo ran
    assert_output ran
    stop_hostile
  done
}
