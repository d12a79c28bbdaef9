# shellcheck shell=bash
# A ZooKeeper server.

# shellcheck source=tests/lib/zookeeper.bash
source "$LIB/zookeeper.bash"

COLUMN=5
start_store() { start_zookeeper "$@"; }

# zookeeper_port: of the one server, which was started for the whole file.
zookeeper_port() { sed -n 's/^clientPort=//p' "$CONTRACT_SERVERS/conf"; }
slot_node() { echo "/rlock/$K/slots/$1"; }

keep_slot() { zookeeper_cli "$(zookeeper_port)" get "$(slot_node "$1")" | grep -P '^(running|open|done)\t' >"$T/slot"; }
put_back_slot() { ! zookeeper_cli "$(zookeeper_port)" set "$(slot_node "$1")" "$(<"$T/slot")" | grep -i exception; }
# lose_slot ID: K's last slot, whose container the servers then delete.
lose_slot() {
  local node
  node=$(slot_node "$1")
  ! zookeeper_cli "$(zookeeper_port)" delete "$node" | grep -i exception
  wait_until no_such_node "${node%/*}"
}
no_such_node() { zookeeper_cli "$(zookeeper_port)" stat "$1" | grep -qi "no\(de does not exist\|node\)"; }
