#!/usr/bin/env bats
# A Redis Cluster, recognised by its redirections.
load ../../lib/rlock
load ../../lib/cluster

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
  hold holder -k "$K" --ttl 5s --grace 100ms
  start waiter -k "$K" -w 60s -q -- echo ran
  wait_until cluster_queued "$K" 1
  from=$(owner_of "$K")
  to=$(owner_of "$K:elsewhere")
  [[ $to != "$from" ]] || to=$(owner_of other)
  [[ $to != "$from" ]] || to=$(owner_of another)
  [[ $to != "$from" ]]
  move_slot "$K" "$from" "$to"
  assert_equal "$(owner_of "$K")" "$to"
  sleep 6 # longer than the lease: it was refreshed at its new place
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

configure_all() {
  local setting=$1 value=$2 number
  for number in {0..5}; do
    node_cli "${PORTS[number]}" config set "$setting" "$value" >/dev/null
  done
}

# While one of them is gone or hangs, the others go on.
without_full_coverage() { configure_all cluster-require-full-coverage no; }

# Nobody takes over from one of them while the test looks at what happens without it.
without_failover() { configure_all cluster-node-timeout 60000; }

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
  without_full_coverage
  key=$(key_elsewhere 0)
  pause_redis "${NODES[0]}"
  asked=$(now_ms)
  attempt -k "$key" -- echo ran
  assert_success
  assert_output ran
  assert_silent
  (($(now_ms) - asked < 4500))
}

@test "a first node that hangs while a job runs does not cost the refresh, when that needs a new connection" {
  local key owner
  start_cluster
  without_full_coverage
  key=$(key_elsewhere 0)
  owner=$(owner_of "$key")
  hold holder -k "$key" --ttl 5s --grace 100ms
  pause_redis "${NODES[0]}"
  node_cli "${PORTS[owner]}" client kill type normal skipme yes >/dev/null
  sleep 6
  let_go holder
  assert_success
}

@test "the node that has the key hangs: it is named" {
  local owner
  start_cluster
  without_failover
  owner=$(owner_of "$K")
  pause_redis "${NODES[owner]}"
  attempt -k "$K" --ttl 1s -- echo ran
  assert_equal "$status" 69
  assert_one_stderr_line "127.0.0.1:${PORTS[owner]}: no answer in time"
}

@test "the node that has the key is gone: it is named" {
  local owner
  start_cluster
  without_failover
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

# replica_of NUMBER: the number of the node that follows that one
replica_of() {
  local number=$1 id port each
  id=$(id_of "$number")
  port=$(node_cli "${PORTS[number]}" cluster nodes | awk -v id="$id" '$4 == id { split($2, a, "[:@]"); print a[2] }')
  for each in {0..5}; do
    if [[ ${PORTS[each]} == "$port" ]]; then
      echo "$each"
    fi
  done
}

@test "a grant that its own server could not confirm, no other one can confirm" {
  local owner replica
  start_cluster
  owner=$(owner_of "$K")
  wait_until has_replica "$owner" # others hear of it later
  replica=$(replica_of "$owner")
  node_cli "${PORTS[replica]}" config set masteruser nobody >/dev/null
  node_cli "${PORTS[replica]}" config set masterauth x >/dev/null
  node_cli "${PORTS[owner]}" client kill type replica >/dev/null
  wait_until follows_nobody "$replica"
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[owner]},${RLOCK_SERVER#redis://}
  start holder -k "$K" --sync-replicas 1 -- echo ran
  wait_until owner_waits "$owner"
  node_cli "${PORTS[replica]}" cluster failover takeover >/dev/null
  finish holder
  assert_equal "$status" 69
  assert_output ''
}

follows_nobody() {
  [[ $(node_cli "${PORTS[$1]}" info replication) == *master_link_status:down* ]]
}

has_replica() {
  [[ -n $(replica_of "$1") ]]
}

owner_waits() {
  [[ $(node_cli "${PORTS[$1]}" client list) == *' cmd=wait '* ]]
}

@test "the only node that was named is cut off in the middle of a hold: the one that has the key is known" {
  local owner first
  start_cluster
  without_full_coverage
  owner=$(owner_of "$K")
  first=$(((owner + 1) % 3))
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[first]}
  hold holder -k "$K" --ttl 5s --grace 100ms
  node_cli "${PORTS[first]}" flushall >/dev/null
  node_cli "${PORTS[first]}" cluster reset hard >/dev/null
  node_cli "${PORTS[owner]}" client kill type normal skipme yes >/dev/null
  sleep 6
  let_go holder
  assert_success
}

# count_of NUMBER WHAT: total_commands_processed and the like, as that node counts them
count_of() {
  node_cli "${PORTS[$1]}" info stats | sed -n "s/^$2:\([0-9]*\).*/\1/p"
}

@test "a waiter whose slot stays on the move does not hammer the server" {
  local from to slot before
  start_cluster
  hold one -k "$K" --permits 2 --ttl 60s
  hold two -k "$K" --permits 2 --ttl 60s
  start waiter -k "$K" --permits 2 -w 60s -q -- echo ran
  wait_until cluster_queued "$K" 1
  from=$(owner_of "$K")
  to=$(((from + 1) % 3))
  slot=$(node_cli "${PORTS[from]}" cluster keyslot "$K")
  node_cli "${PORTS[to]}" cluster setslot "$slot" importing "$(id_of "$from")" >/dev/null
  node_cli "${PORTS[from]}" cluster setslot "$slot" migrating "$(id_of "$to")" >/dev/null
  node_cli "${PORTS[from]}" client kill type normal skipme yes >/dev/null
  sleep 0.5
  before=$(count_of "$from" total_commands_processed)
  sleep 1
  (($(count_of "$from" total_commands_processed) - before < 1000))
  node_cli "${PORTS[to]}" cluster setslot "$slot" stable >/dev/null
  node_cli "${PORTS[from]}" cluster setslot "$slot" stable >/dev/null
  let_go one
  finish waiter
  assert_output ran
  let_go two
}

connections_of_all_but() {
  local number sum=0
  for number in {0..5}; do
    ((number == $1)) || sum=$((sum + $(count_of "$number" total_connections_received)))
  done
  echo "$sum"
}

@test "when the patience is over nobody else is asked" {
  local owner number before
  start_cluster
  without_full_coverage
  without_failover
  owner=$(owner_of "$K")
  RLOCK_SERVER=${RLOCK_SERVER/redis:\/\//redis:\/\/someone:secret@}
  for number in {0..5}; do
    ((number == owner)) || node_cli "${PORTS[number]}" acl setuser someone on '>secret' '~*' '+@all' >/dev/null
  done
  before=$(connections_of_all_but "$owner")
  pause_redis "${NODES[owner]}"
  attempt -k "$K" --ttl 1s -- true
  assert_equal "$status" 69
  assert_one_stderr_line "127.0.0.1:${PORTS[owner]}: no answer in time"
  (($(connections_of_all_but "$owner") - before < 20))
}

@test "many nodes that are far away are each waited for" {
  local port hosts
  hosts=$(printf '127.0.0.%s,' {1..5})127.0.0.6
  own_server
  port=$(free_port)
  start_proxy_between "tcp:$hosts:$port" "unix:$SERVER/redis.sock"
  proxy delay 700 # more than a sixth of the patience, which is the TTL
  attempt -S "redis://${hosts//,/:$port,}:$port" -k "$K" --ttl 4s -- echo ran
  assert_success
  assert_output ran
  stop_proxy
}

@test "a node that leaves its name out is the one that was asked" {
  local number
  start_cluster
  configure_all cluster-preferred-endpoint-type unknown-endpoint
  for number in 1 2 3 4; do
    attempt -S "redis://127.0.0.1:${PORTS[0]}" -k "$K:$number" -- echo ran
    assert_output ran
  done
}

@test "a list while a slot is being moved says that it may not be all" {
  local from to slot
  start_cluster
  hold holder -k "$K" --ttl 60s
  from=$(owner_of "$K")
  to=$(((from + 1) % 3))
  slot=$(node_cli "${PORTS[from]}" cluster keyslot "$K")
  attempt list
  assert_success
  assert_silent
  node_cli "${PORTS[to]}" cluster setslot "$slot" importing "$(id_of "$from")" >/dev/null
  attempt list
  assert_success
  assert_one_stderr_line "this may not be all: slot $slot of the Cluster is being moved: locks of it may be missing"
  node_cli "${PORTS[to]}" cluster setslot "$slot" stable >/dev/null
  attempt list
  assert_silent
  let_go holder
}

@test "nodes that disagree about a slot are asked until they agree" {
  local from to slot
  start_cluster
  from=$(owner_of "$K")
  to=$(((from + 1) % 3))
  slot=$(node_cli "${PORTS[from]}" cluster keyslot "$K")
  node_cli "${PORTS[from]}" cluster setslot "$slot" migrating "$(id_of "$to")" >/dev/null
  attempt -k "$K" -- echo ran
  assert_equal "$status" 69
  assert_one_stderr_line 'redirection that cannot be followed'
  start waiter -k "$K" -w 60s -q -- echo ran
  sleep 0.5
  node_cli "${PORTS[from]}" cluster setslot "$slot" stable >/dev/null
  finish waiter
  assert_output ran
}

@test "a holder whose server hangs is told where the lock is now" {
  local owner
  start_cluster
  start holder -k "$K" --ttl 9s --sync-replicas 1 -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  owner=$(owner_of "$K")
  pause_redis "${NODES[owner]}"
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[(owner + 1) % 3]}
  sleep 8 # a replica takes over, and the lock is refreshed there
  attempt cancel "$K" --wait 20s
  assert_success
  finish holder
  assert_equal "$status" 76
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

# hold_everywhere COUNT: so many locks, and at least one on each of the three masters.
hold_everywhere() {
  local count=$1 number
  KEYS=()
  for ((number = 1; number <= count; number++)); do
    hold "$number" -k "$K:$number" -t 60s
    KEYS+=("$K:$number")
  done
  assert_equal "$(for number in "${KEYS[@]}"; do owner_of "$number"; done | sort -u | wc -l)" 3
}

let_all_go() {
  local number
  for ((number = 1; number <= ${#KEYS[@]}; number++)); do
    let_go "$number"
  done
}

@test "a list by way of a node that leaves all names out has the locks of all nodes" {
  start_cluster
  configure_all cluster-preferred-endpoint-type unknown-endpoint
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[0]}
  hold_everywhere 8
  run json '[each["key"] for each in d["locks"]]' list --json
  assert_output "$("$PYTHON" -c 'import json, sys; print(json.dumps(sorted(sys.argv[1:])))' "${KEYS[@]}")"
  attempt metrics
  assert_success
  assert_equal "$(grep -c '^rlock_holders{' <<<"$output")" 8
  let_all_go
  attempt log
  assert_success
  assert_equal "$(grep -c "$K:" <<<"$output")" 8
}

@test "a list during which a slot moved to a node that had been asked says that it is not all" {
  local number
  start_cluster
  without_failover
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[0]}
  hold_everywhere 8
  # Asked in the order of their slots: 0, 1, 2.
  for ((number = 1; number <= 8; number++)); do
    if [[ $(owner_of "$K:$number") == 2 ]]; then break; fi
  done
  pause_redis "${NODES[1]}"
  start lister list --json --connect-timeout 20s
  sleep 0.5 # it waits for the second
  move_slot "$K:$number" 2 0
  resume_redis "${NODES[1]}"
  finish lister
  assert_equal "$status" 69
  assert_stderr_line 'this is not all: slots of the Cluster moved meanwhile'
  attempt list --json
  assert_success
  assert_equal "$(jq '.locks | length' <<<"$output")" 8
  let_all_go
}

@test "a list says which hostname a node of the Cluster lacks, or takes its address" {
  start_cluster
  configure_all cluster-preferred-endpoint-type hostname
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[0]}
  attempt list
  assert_success
  assert_stderr_line 'no lock is held or waited for'
}

@test "a list without one node of the Cluster is not taken for all: the node is named, 69" {
  local owner
  start_cluster
  without_full_coverage
  without_failover
  hold_everywhere 8
  owner=$(owner_of "$K:1")
  RLOCK_SERVER=redis://127.0.0.1:${PORTS[(owner + 1) % 3]}
  kill_redis "${NODES[owner]}"
  attempt list
  assert_equal "$status" 69
  assert_stderr_line "this is not all: 127.0.0.1:${PORTS[owner]}: "
  [[ $output == *"$K:"* && $output != *"$K:1 "* ]]
  attempt log
  assert_equal "$status" 69
  assert_stderr_line "this is not all: 127.0.0.1:${PORTS[owner]}: "
  attempt metrics
  assert_equal "$status" 69
  assert_output ''
  attempt doctor
  assert_equal "$status" 1
  assert_output --partial "127.0.0.1:${PORTS[owner]}: "
  assert_line --regexp '^fail +cluster '
  end_leftovers
}

@test "a list of a Cluster by a user who may not ask for its nodes says that it may not be all" {
  local number
  start_cluster
  for number in {0..5}; do
    node_cli "${PORTS[number]}" acl setuser few on '>word' '~*' +@all -cluster >/dev/null
  done
  attempt list -S "redis://few:word@127.0.0.1:${PORTS[0]}"
  assert_equal "$status" 77
  assert_stderr_line 'this is not all'
  for number in {0..5}; do
    node_cli "${PORTS[number]}" acl setuser few -info >/dev/null
  done
  attempt list -S "redis://few:word@127.0.0.1:${PORTS[0]}"
  assert_success
  assert_stderr_line 'this may not be all: not allowed to ask whether this is a Cluster (+cluster|slots)'
}

@test "doctor says how many masters of a Cluster answer" {
  start_cluster
  attempt doctor
  assert_line --regexp '^ok +cluster +3 masters answer; '
}
