# shellcheck shell=bash
# An etcd server.

# shellcheck source=tests/lib/etcd.bash
source "$LIB/etcd.bash"

COLUMN=6
start_store() { start_etcd "$@"; }

# contract_port: of the one server, which was started for the whole file.
contract_port() { echo "${CONTRACT_URL##*:}"; }
slot_key() { echo "rlock/slots/$K/$1"; }

# keep_slot ID: without the newline that etcdctl adds.
keep_slot() {
  etcd_cli "$(contract_port)" get "$(slot_key "$1")" -w json | jq -er '.kvs[0].value' | base64 -d >"$T/slot"
}
put_back_slot() { ETCDCTL_API=3 etcdctl --endpoints "127.0.0.1:$(contract_port)" put "$(slot_key "$1")" <"$T/slot" | grep -qx OK; }
lose_slot() { etcd_cli "$(contract_port)" del "$(slot_key "$1")" | grep -qx 1; }
