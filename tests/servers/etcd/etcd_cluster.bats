#!/usr/bin/env bats
# A cluster of three etcd members, of which some are lost, hang, are cut off, or only learn.
load ../../lib/rlock
load ../../lib/etcd
load ../../lib/line

@test "the leader that is killed in the middle of a hold" {
  local leader from
  start_etcd_cluster
  hold holder -k "$K" --ttl 10s
  start waiter -k "$K" -w 60s --ttl 10s -- echo 'my turn'
  wait_until in_line 1
  leader=$(etcd_leader)
  kill_redis "${ETCD_NODES[leader]}"
  # A new claim waits for no more than an election.
  from=$(now_ms)
  attempt -q -k "$K:other" -w 10s -- echo ran
  assert_output ran
  assert_less "$(($(now_ms) - from))" 6000
  # For longer than the lease: it is refreshed at the others.
  attempt -q -k "$K" -w 12s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
}

@test "doctor names a majority of the members, and says how many may fail" {
  start_etcd_cluster
  attempt doctor
  assert_success
  assert_output --partial '3 members with a vote, of which 1 may fail'
  attempt doctor -S "$(etcd_url 0)"
  assert_output --partial 'name at least 2 in the URL'
  attempt doctor -S "$(etcd_url 0 1)"
  [[ $output != *'in the URL'* ]]
  kill_redis "${ETCD_NODES[0]}"
  attempt doctor
  assert_output --partial '3 members with a vote'
  assert_output --partial 'the others serve, if they are a majority'
}

@test "doctor warns about each member of a version whose leader may revoke leases in use" {
  local old=0
  start_etcd_cluster
  case $(etcd --version | sed -n 's/^etcd Version: //p') in
    3.4.? | 3.4.[12]? | 3.4.30 | 3.5.? | 3.5.1[0-2]) old=3 ;;
  esac
  attempt doctor
  assert_success
  assert_equal "$(grep -c '^warn .* may revoke leases in use' <<<"$output")" "$old"
  assert_equal "$(grep -c 'use etcd 3.4.31, 3.5.13 or newer' <<<"$output")" "$old"
}

# released NAME: it has, or says that it could not: on a busy machine an election outlasts the time of a release.
released() {
  let_go "$1"
  assert_success
  [[ -z $stderr ]] || assert_one_stderr_line 'could not release the lock' 'it expires within 8s'
}

@test "a release while the leader is killed" {
  local leader number
  start_etcd_cluster
  for number in {1..4}; do hold "holder$number" -k "$K:$number" --ttl 8s; done
  leader=$(etcd_leader)
  kill_redis "${ETCD_NODES[leader]}"
  for number in {1..4}; do released "holder$number"; done
  for number in {1..4}; do
    attempt -q -w 20s -k "$K:$number" -- echo free
    assert_output free
  done
}

@test "one of three that hangs: holders refresh and release at the others, and others come" {
  local number silent
  start_etcd_cluster
  silent=$(etcd_leader)
  for number in {1..3}; do
    hold "released$number" -k "$K:released$number" --ttl 8s
    hold "refreshed$number" -k "$K:refreshed$number" --ttl 8s --grace 100ms
  done
  pause_redis "${ETCD_NODES[silent]}"
  for number in {1..3}; do released "released$number"; done
  for number in {1..3}; do
    start "other$number" -q -w 9s -k "$K:refreshed$number" -- touch "$T/ran"
  done
  for number in {1..3}; do
    attempt -q -w 20s -k "$K:released$number" -- echo free
    assert_output free
  done
  for number in {1..3}; do
    finish "other$number"
    assert_equal "$status" 75
    released "refreshed$number"
  done
  resume_redis "${ETCD_NODES[silent]}"
  [[ ! -e $T/ran ]]
}

@test "a waiter at a member that is cut off hears of its turn at another" {
  local number follower
  start_etcd_cluster
  follower=$(etcd_follower)
  hold holder -k "$K" --ttl 6s
  # It asks that one first.
  start waiter -S "$(etcd_url "$follower" $(((follower + 1) % 3)) $(((follower + 2) % 3)))" -k "$K" -w 60s --ttl 6s -- echo 'my turn'
  wait_until in_line 1
  pause_redis "${ETCD_NODES[follower]}"
  local from
  from=$(now_ms)
  let_go holder
  finish waiter
  assert_output 'my turn'
  assert_less "$(($(now_ms) - from))" 8000
  resume_redis "${ETCD_NODES[follower]}"
}

@test "two of three that are silent end the job before the lease does" {
  local number job
  start_etcd_cluster
  hold holder -k "$K" --ttl 6s
  job=$(job_of holder)
  for number in 0 1; do pause_redis "${ETCD_NODES[number]}"; done
  local from
  from=$(now_ms)
  wait_until gone "$job"
  assert_less "$(($(now_ms) - from))" 6300
  attempt -k "$K:new" -- touch "$T/ran"
  assert_equal "$status" 69
  for number in 0 1; do resume_redis "${ETCD_NODES[number]}"; done
  finish holder
  assert_equal "$status" 76
  [[ ! -e $T/ran ]]
}

@test "a learner answers nothing, and the next member is asked" {
  local dir port peer
  start_etcd
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  port=$(free_port)
  peer=$(free_port)
  etcd_cli "$ETCD_PORT" member add learner --learner --peer-urls "http://127.0.0.1:$peer" >"$T/added"
  etcd_options "$dir" learner "$port" "$peer" --initial-cluster-state existing \
    --initial-cluster "$(sed -n 's/^ETCD_INITIAL_CLUSTER="\(.*\)"/\1/p' "$T/added")"
  launch_etcd "$dir"
  OWN_SERVERS+=("$dir")
  wait_until learns "$port"
  attempt -S "etcd://127.0.0.1:$port,127.0.0.1:$ETCD_PORT" -k "$K" -- echo ran
  assert_output ran
  attempt -S "etcd://127.0.0.1:$port" -k "$K" --connect-timeout 2s -- touch "$T/ran"
  assert_equal "$status" 69
  assert_stderr_line 'learner'
  attempt doctor -S "etcd://127.0.0.1:$ETCD_PORT,127.0.0.1:$port"
  assert_output --partial 'is a learner'
  [[ ! -e $T/ran ]]
}

learns() {
  [[ $(etcd_cli "$1" endpoint status -w json 2>/dev/null | jq '.[0].Status.isLearner') == true ]]
}
