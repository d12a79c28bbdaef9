# shellcheck shell=bash
# Three independent servers of one test (or of one file).

# start_quorum [COUNT]: NODES are the directories.
start_quorum() {
  local count=${1:-3} number urls=''
  NODES=()
  for ((number = 0; number < count; number++)); do
    own_server
    NODES+=("$SERVER")
    urls+=" unix://$SERVER/redis.sock"
  done
  export RLOCK_SERVER=${urls# }
}

# node NUMBER COMMAND...: redis-cli on one of them, counted from 1.
node() {
  local number=$1
  shift
  redis-cli -s "${NODES[number - 1]}/redis.sock" "$@"
}

# nodes_with KEY: how many nodes have it.
nodes_with() {
  local key=$1 number count=0
  for ((number = 1; number <= ${#NODES[@]}; number++)); do
    ((count += $(node "$number" exists "$key"))) || true
  done
  echo "$count"
}

on_nodes() {
  local key=$1 count=$2
  [[ $(nodes_with "$key") == "$count" ]]
}
