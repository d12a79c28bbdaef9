# shellcheck shell=bash
# A Cluster of three masters and three replicas, of one test, on loopback.

# start_cluster: NODES are the directories, PORTS the ports; RLOCK_SERVER names all of them.
start_cluster() {
  local number
  NODES=()
  PORTS=()
  for number in {1..6}; do
    start_node
  done
  redis-cli --cluster create "${PORTS[@]/#/127.0.0.1:}" --cluster-replicas 1 --cluster-yes >"$T/create"
  for number in {0..5}; do
    wait_until node_is_ready "${NODES[number]}"
  done
  export RLOCK_SERVER
  RLOCK_SERVER="redis://$(IFS=,; echo "${PORTS[*]/#/127.0.0.1:}")"
}

start_node() {
  local port
  port=$(free_port_pair 10000) # where the nodes talk to each other
  own_server --bind 127.0.0.1 --port "$port" --cluster-enabled yes --cluster-node-timeout 1500 \
    --repl-diskless-sync-delay 0
  NODES+=("$SERVER")
  PORTS+=("$port")
}

node_is_ready() {
  local dir=$1 info role
  info=$(redis-cli -s "$dir/redis.sock" cluster info)
  role=$(redis-cli -s "$dir/redis.sock" info replication)
  [[ $info == *cluster_state:ok* && $info == *cluster_known_nodes:6* ]] &&
    [[ $role != *role:slave* || $role == *master_link_status:up* ]]
}

# node_cli PORT COMMAND...: one node, without following its redirections; cluster_cli follows them.
node_cli() {
  local port=$1
  shift
  redis-cli -p "$port" "$@"
}

cluster_cli() {
  redis-cli -c -p "$(live_port)" "$@"
}

live_port() {
  local number
  for number in {0..5}; do
    if process_alive "$(<"${NODES[number]}/pid")"; then
      echo "${PORTS[number]}"
      return
    fi
  done
}

# owner_of KEY: the number (0 to 5) of the node that has its slot.
owner_of() {
  local key=$1 slot port number
  slot=$(node_cli "$(live_port)" cluster keyslot "$key")
  port=$(node_cli "$(live_port)" cluster nodes | awk -v slot="$slot" '
    $3 ~ /master/ && $3 !~ /fail/ { for (i = 9; i <= NF; i++) { split($i, r, "-"); last = r[2] == "" ? r[1] : r[2]
      if (slot >= r[1] + 0 && slot <= last + 0) { split($2, a, "[:@]"); print a[2] } } }')
  for number in {0..5}; do
    if [[ ${PORTS[number]} == "$port" ]]; then
      echo "$number"
    fi
  done
}

id_of() {
  local number=$1
  node_cli "${PORTS[number]}" cluster myid
}

# move_slot KEY FROM TO: the slot of KEY with all that is in it, as `redis-cli --cluster reshard` does.
move_slot() {
  local key=$1 from=$2 to=$3 slot each number
  slot=$(node_cli "${PORTS[from]}" cluster keyslot "$key")
  node_cli "${PORTS[to]}" cluster setslot "$slot" importing "$(id_of "$from")" >/dev/null
  node_cli "${PORTS[from]}" cluster setslot "$slot" migrating "$(id_of "$to")" >/dev/null
  while read -r each; do
    [[ -n $each ]] || continue
    node_cli "${PORTS[from]}" migrate 127.0.0.1 "${PORTS[to]}" "$each" 0 5000 >/dev/null
  done < <(node_cli "${PORTS[from]}" cluster getkeysinslot "$slot" 100)
  for number in "$to" "$from" 0 1 2 3 4 5; do
    # One of them may be silent.
    timeout 1 redis-cli -p "${PORTS[number]}" cluster setslot "$slot" node "$(id_of "$to")" >/dev/null 2>&1 || true
  done
}
