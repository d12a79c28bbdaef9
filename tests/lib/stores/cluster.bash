# shellcheck shell=bash
# A Redis Cluster.

# shellcheck source=tests/lib/cluster.bash
source "$LIB/cluster.bash"

COLUMN=2
start_store() { start_cluster; }
