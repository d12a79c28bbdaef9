#!/usr/bin/env bats
# zk://: a line of ephemeral nodes, and the session as lease.
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

@test "the fence is a transaction of the ensemble, and grows" {
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  local first=$output
  # shellcheck disable=SC2016
  attempt -k "$K:other" -- sh -c 'echo $RLOCK_FENCE'
  assert_less "$first" "$output"
}

@test "check compares the whole token, not a part of it" {
  local token part
  hold holder -k "$K" --label job
  token=$(json 'd["holder"]["token"]' inspect --json "$K")
  for part in x - '#' a 0 "${token#*#}" "other@host:1/job#${token#*#}" "${token%?}"; do
    attempt check -k "$K" --token "$part"
    assert_equal "$status" 76
  done
  attempt check -k "$K" --token "$token"
  assert_success
  let_go holder
}

@test "a waiter watches the one before it, and no herd wakes" {
  local number
  start_zookeeper
  hold holder -k "$K"
  for number in {1..6}; do
    start "w$number" -k "$K" -w 60s -- true
    wait_until in_line "$number"
  done
  # Each waiter watches the node before its own; waiters and the holder watch their own.
  wait_until watches 13
  let_go holder
  for number in {1..6}; do
    finish "w$number"
    assert_success
  done
}

watches() {
  local count=$1
  [[ $(four_letters "$ZK_PORT" wchs) == *"Total watches:$count"* ]]
}

@test "readers wait for the writer before them, not for each other" {
  readers_and_writer_in_turn
}

@test "the server that was lost in the middle of a hold is replaced by another" {
  local leader
  start_ensemble
  hold holder -k "$K" --ttl 10s
  start waiter -k "$K" -w 60s --ttl 10s -- echo 'my turn'
  wait_until in_line 1
  leader=$(zk_leader)
  kill_redis "${ZK_NODES[leader]}"
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

@test "one of three that hangs: holders refresh and release at the others" {
  local number silent
  start_ensemble
  # Each is connected to one of the three, and some to the one that hangs.
  for number in {1..6}; do
    hold "released$number" -k "$K:released$number" --ttl 30s
    hold "refreshed$number" -k "$K:refreshed$number" --ttl 6s --grace 100ms
  done
  silent=$(zk_busy_follower)
  pause_redis "${ZK_NODES[silent]}"
  for number in {1..6}; do
    let_go "released$number"
    assert_success
    assert_equal "$stderr" ''
  done
  for number in {1..6}; do
    start "other$number" -q -w 7s -k "$K:refreshed$number" -- touch "$T/ran"
  done
  # Sessions of 45 s, if nobody was told.
  for number in {1..6}; do
    attempt -q -w 10s -k "$K:released$number" -- echo free
    assert_output free
  done
  for number in {1..6}; do
    finish "other$number"
    assert_equal "$status" 75
    let_go "refreshed$number"
    assert_success
    assert_equal "$stderr" ''
  done
  resume_redis "${ZK_NODES[silent]}"
  [[ ! -e $T/ran ]]
}

@test "servers that hang one after the other: a holder that knows two of them goes from one to the other" {
  local hung
  local -a followers
  start_ensemble
  mapfile -t followers < <(zk_in_mode follower)
  hold holder -S "$(zk_url "${followers[@]}")" -k "$K" --ttl 6s --grace 100ms
  # Whichever it is connected to: twice it has to leave one.
  for hung in "${followers[@]}" "${followers[0]}"; do
    pause_redis "${ZK_NODES[hung]}"
    attempt -q -w 6500ms -k "$K" -- touch "$T/ran"
    assert_equal "$status" 75
    resume_redis "${ZK_NODES[hung]}"
    # It is one of three again.
    attempt -S "$(zk_url "$hung")" -k "$K:$hung" -w 20s -- echo back
    assert_output back
  done
  let_go holder
  assert_success
  [[ ! -e $T/ran ]]
}

@test "one of three that hangs: who comes goes to the others" {
  local number silent two
  start_ensemble
  silent=$(zk_follower)
  pause_redis "${ZK_NODES[silent]}"
  # Also where there is only one other.
  two=$(zk_url "$silent" "$(zk_leader)")
  for number in {1..6}; do
    start "run$number" -k "$K:$number" --ttl 5s -- echo ran
    start "two$number" -S "$two" -k "$K:two$number" --ttl 5s -- echo ran
  done
  for number in {run,two}{1..6}; do
    finish "$number"
    assert_success
    assert_output ran
  done
  attempt list
  assert_success
  resume_redis "${ZK_NODES[silent]}"
}

@test "two of three that are silent end the job before the session does" {
  local number job
  start_ensemble
  hold holder -k "$K" --ttl 9s
  job=$(job_of holder)
  for number in 0 1; do
    pause_redis "${ZK_NODES[number]}"
  done
  local from
  from=$(now_ms)
  wait_until gone "$job"
  assert_less "$(($(now_ms) - from))" 9300
  for number in 0 1; do
    resume_redis "${ZK_NODES[number]}"
  done
  finish holder
  assert_equal "$status" 76
}

@test "a holder that was paused beyond its session stops its job when it comes to" {
  hold holder -k "$K" --ttl 3s
  signal STOP holder
  attempt -q -k "$K" -w 20s -- echo 'my turn'
  assert_output 'my turn'
  signal CONT holder
  finish holder
  assert_equal "$status" 76
}

@test "a server that comes back finds the session alive" {
  start_zookeeper
  hold holder -k "$K" --ttl 20s --grace 1s
  kill_redis "${OWN_SERVERS[-1]}"
  launch_zookeeper "${OWN_SERVERS[-1]}"
  wait_until zookeeper_answers "$ZK_PORT"
  wait_until held "$K"
  let_go holder
  assert_success
}

@test "a node that was made while the connection broke is found again" {
  hold one -k "$K" --shared
  start_zookeeper_proxy
  proxy drop-reply s-
  hold two -S "$PROXIED" -k "$K" --shared
  says "$T/proxy.log" 'dropped reply'
  assert_equal "$(json 'len(d["holders"]) + len(d["waiters"])' inspect --json "$K")" 2
  let_go two
  assert_success
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 1
  let_go one
  stop_proxy
}

@test "a claim of which nobody heard what became is taken back" {
  hold one -k "$K" --shared
  start_zookeeper_proxy
  proxy swallow-reply s-
  # Its node would last as long as its session, 45 s.
  attempt -S "$PROXIED" -k "$K" --shared -w 1s --ttl 30s -- touch "$T/ran"
  assert_equal "$status" 69
  says "$T/proxy.log" 'swallowed reply'
  assert_equal "$(json 'len(d["holders"]) + len(d["waiters"])' inspect --json "$K")" 1
  let_go one
  assert_success
  stop_proxy
  [[ ! -e $T/ran ]]
}

@test "a lock that was waited for is granted by a transaction, not by what one server remembers" {
  start_zookeeper_proxy
  hold holder -k "$K"
  # 14 is a transaction's number in the protocol. No refresh is due before the job is there.
  start waiter -S "$PROXIED" -k "$K" -w 60s --ttl 30s \
    -- env LC_ALL=C grep -acP 'request.*\x00\x00\x00\x0e' "$T/proxy.log"
  wait_until in_line 1
  let_go holder
  finish waiter
  assert_success
  stop_proxy
}

@test "a hold and a wait outlive a connection that is reset" {
  start_zookeeper_proxy
  hold holder -S "$PROXIED" -k "$K" --ttl 5s --grace 100ms
  start waiter -S "$PROXIED" -k "$K" --ttl 5s -w 60s -- echo 'my turn'
  wait_until in_line 1
  proxy reset
  attempt -q -k "$K" -w 6s -- touch "$T/ran"
  assert_equal "$status" 75
  in_line 1
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
  stop_proxy
}

@test "a server that is down, or silent, is 69 in time" {
  start_zookeeper
  pause_redis "${OWN_SERVERS[-1]}"
  attempt -k "$K" --ttl 1s -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'cannot reach zk://'
  resume_redis "${OWN_SERVERS[-1]}"
  kill_redis "${OWN_SERVERS[-1]}"
  attempt -k "$K" --ttl 1s -- touch "$T/ran"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
}

@test "user and password: what they made is theirs, and neither is shown" {
  attempt -v -S "zk://app:geheim@${FILE_URL#zk://}/secured" -k "$K" -- "$RLOCK_BIN" inspect -q "$K"
  assert_success
  [[ $stderr != *geheim* ]]
  attempt -S "$FILE_URL/secured" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  attempt -S "zk://app:wrong@${FILE_URL#zk://}/secured" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  [[ $stderr != *wrong@* && ! -e $T/ran ]]
  install -m 600 /dev/null "$T/password"
  echo geheim >"$T/password"
  attempt -S "zk://app@${FILE_URL#zk://}/secured" --password-file "$T/password" -k "$K" -- echo ran
  assert_output ran
}

@test "a list without the locks of another user says that it is not all, and metrics print nothing" {
  hold open -S "$FILE_URL/mixed" -k "$K.open"
  hold closed -S "zk://app:geheim@${FILE_URL#zk://}/mixed" -k "$K.closed"
  attempt -S "$FILE_URL/mixed" list --json
  assert_equal "$status" 77
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" "$K.open"
  [[ $stderr == *"this is not all: the lock '$K.closed': "* ]]
  attempt -S "$FILE_URL/mixed" metrics
  assert_equal "$status" 77
  assert_output ''
  attempt -S "zk://app:geheim@${FILE_URL#zk://}/mixed" list --json
  assert_success
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" "$K.closed"$'\n'"$K.open"
  let_go open
  let_go closed
}

@test "locks below another path are other locks" {
  hold holder -S "$FILE_URL/one/two" -k "$K"
  attempt -S "$FILE_URL/one/three" -k "$K" -- echo ran
  assert_output ran
  attempt -S "$FILE_URL/one/two" -k "$K" -- true
  assert_equal "$status" 75
  let_go holder
}

@test "a lease longer than the ensemble's sessions is shortened, and too short a one is refused" {
  start_zookeeper maxSessionTimeout=4000
  attempt -k "$K" --ttl 1h --grace 100ms -- echo ran
  assert_output ran
  attempt -k "$K" --ttl 1h -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line '--ttl'
  [[ ! -e $T/ran ]]
}

@test "doctor names the part of each server, the longest lease, and who may write" {
  start_ensemble
  attempt doctor
  assert_success
  # shellcheck disable=SC2153  # start_ensemble sets it
  assert_line --regexp "servers +127.0.0.1:${ZK_PORTS[0]} (follower|leader), .*leader"
  assert_line --regexp 'version +3\.'
  assert_line --regexp 'sessions +maxSessionTimeout allows leases of 40s'
  assert_line --regexp 'access +every client'
  kill -KILL "$(cat "${ZK_NODES[0]}/pid")"
  attempt doctor
  assert_line --regexp "servers +127.0.0.1:${ZK_PORTS[0]} does not answer"
  kill -KILL "$(cat "${ZK_NODES[1]}/pid")"
  attempt -S "$(zk_url 2)" doctor
  assert_failure
}

@test "doctor warns of sessions that are too short" {
  start_zookeeper maxSessionTimeout=4000
  attempt doctor
  assert_line --regexp 'sessions +maxSessionTimeout allows leases of 2'
}

@test "nothing is left of a lock that nobody holds or waits for" {
  local before
  start_zookeeper
  before=$(node_count)
  attempt -k "$K" --history 0 -- true
  # /rlock stays; the lock's own node goes when ZooKeeper next looks for empty ones.
  wait_until nodes_are "$((before + 1))"
  # With a memory: the lock's node, that of its runs, and the run.
  attempt -k "$K" -- true
  assert_equal "$(node_count)" "$((before + 4))"
}

node_count() {
  four_letters "$ZK_PORT" srvr | sed -n 's/^Node count: //p'
}

nodes_are() {
  local count=$1
  [[ $(node_count) == "$count" ]]
}

@test "force-release hears of the end of the job" {
  start_zookeeper
  hold holder -k "$K"
  wait_until watches 1
  attempt force-release --yes --wait 10s "$K"
  assert_success
  [[ $output == *'job has stopped'* ]]
  finish holder
  assert_equal "$status" 76
}

@test "URLs that name no ensemble exit 78" {
  local url
  for url in zk:// zk://h:x zk://:2181 'zk://h/?x' zk://h//x zk://:p@h; do
    attempt -S "$url" -k "$K" -- true
    assert_equal "$status" 78
    assert_one_stderr_line
  done
}
