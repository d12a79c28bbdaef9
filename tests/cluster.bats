#!/usr/bin/env bats
# A Redis Cluster, recognised by its redirections.
load lib/rlock
load lib/cluster

cluster_exists() {
  [[ $(cluster_cli exists "$1") == 1 ]]
}

cluster_queued() {
  [[ $(cluster_cli zcard "$(companion "$1" queue)") == "$2" ]]
}

@test "locks work by way of any node, whichever has them" {
  local port number
  start_cluster
  for port in "${PORTS[@]}"; do
    attempt -S "redis://127.0.0.1:$port" -k "$K" -- echo ran
    assert_success
    assert_output ran
  done
  for number in 1 2 3 4 5 6; do # keys of all nodes
    hold "holder-$number" -k "$K:$number"
    attempt -S "redis://127.0.0.1:${PORTS[0]}" -k "$K:$number" -- true
    assert_equal "$status" 75
  done
  attempt list "$K:*"
  assert_success
  assert_equal "${#lines[@]}" 7
  attempt -S "redis://127.0.0.1:${PORTS[0]}" inspect -q "$K:3"
  assert_success
  start waiter -k "$K:1" -w 60s -q -- echo ran
  wait_until cluster_queued "$K:1" 1
  for number in 1 2 3 4 5 6; do
    let_go "holder-$number"
    assert_success
  done
  finish waiter
  assert_output ran
}

@test "the holder is told at once, whichever node has the lock" {
  local number
  start_cluster
  for number in 1 2 3; do
    start "holder-$number" -S "redis://127.0.0.1:${PORTS[0]}" -k "$K:$number" -- "$LIB/until-file" "$T/never"
    wait_until says "$T/holder-$number.out" started
  done
  for number in 1 2 3; do
    attempt cancel "$K:$number"
    assert_success
    assert_output --partial 'stopped its job'
    finish "holder-$number"
    assert_equal "$status" 76
  done
}

@test "a slot that moves in the middle of a hold and a wait" {
  local from to
  start_cluster
  hold holder -k "$K" --ttl 3s
  start waiter -k "$K" -w 60s -q -- echo ran
  wait_until cluster_queued "$K" 1
  from=$(owner_of "$K")
  to=$(owner_of "$K:elsewhere")
  [[ $to != "$from" ]] || to=$(owner_of other)
  [[ $to != "$from" ]] || to=$(owner_of another)
  [[ $to != "$from" ]]
  move_slot "$K" "$from" "$to"
  assert_equal "$(owner_of "$K")" "$to"
  sleep 4 # longer than the lease: it was refreshed at its new place
  cluster_exists "$K"
  let_go holder
  assert_success
  assert_silent
  finish waiter
  assert_success
  assert_output ran
}

@test "a failover in the middle of a hold and a wait" {
  local owner
  start_cluster
  hold holder -k "$K" --ttl 20s --sync-replicas 1
  start waiter -k "$K" -w 60s -q -- echo ran
  wait_until cluster_queued "$K" 1
  owner=$(owner_of "$K")
  kill_redis "${NODES[owner]}"
  wait_until has_other_owner "$K" "$owner"
  wait_until cluster_exists "$K"
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output ran
}

has_other_owner() {
  local now
  now=$(owner_of "$1")
  [[ -n $now && $now != "$2" ]]
}

# key_elsewhere NUMBER: of a lock that another node than that one has
key_elsewhere() {
  local number=$1 suffix
  for suffix in {1..20}; do
    if [[ $(owner_of "$K:$suffix") != "$number" ]]; then
      echo "$K:$suffix"
      return
    fi
  done
}

@test "a first node that hangs costs a share of the patience, not all of it" {
  local key asked
  start_cluster
  key=$(key_elsewhere 0)
  pause_redis "${NODES[0]}"
  asked=$(now_ms)
  attempt -k "$key" -- echo ran
  assert_success
  assert_output ran
  assert_silent
  (($(now_ms) - asked < 3000))
}

@test "a first node that hangs while a job runs does not cost the refresh, when that needs a new connection" {
  local key owner
  start_cluster
  key=$(key_elsewhere 0)
  owner=$(owner_of "$key")
  hold holder -k "$key" --ttl 3s
  pause_redis "${NODES[0]}"
  node_cli "${PORTS[owner]}" client kill type normal skipme yes >/dev/null
  sleep 4
  let_go holder
  assert_success
}

@test "the node that has the key hangs: it is named" {
  local owner
  start_cluster
  owner=$(owner_of "$K")
  pause_redis "${NODES[owner]}"
  attempt -k "$K" --ttl 1s -- echo ran
  assert_equal "$status" 69
  assert_one_stderr_line "127.0.0.1:${PORTS[owner]}: no answer in time"
}

@test "the node that has the key is gone: it is named" {
  local owner
  start_cluster
  owner=$(owner_of "$K")
  kill_redis "${NODES[owner]}"
  attempt -k "$K" -- echo ran
  assert_equal "$status" 69
  assert_one_stderr_line "127.0.0.1:${PORTS[owner]}: Connection refused"
}

@test "a node that is cut off from its Cluster is passed over" {
  start_cluster
  start_node # belongs to none, and says so: CLUSTERDOWN
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[6]},127.0.0.1:${PORTS[0]}
  attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
  attempt -S "redis://127.0.0.1:${PORTS[6]}" -k "$K" -- echo ran
  assert_equal "$status" 69
  assert_one_stderr_line CLUSTERDOWN
}

@test "a key whose companions would lie elsewhere is refused with an explanation" {
  local key refused=0
  start_cluster
  for key in "$K:a}b" "$K:x{}y"; do
    attempt -k "$key" -- echo ran
    if [[ $status != 0 ]]; then
      assert_equal "$status" 69
      assert_one_stderr_line 'another slot of the Cluster'
      assert_output ''
      ((++refused))
    fi
  done
  ((refused > 0))
  attempt -k "{$K}:tagged" -- echo ran
  assert_success
}
