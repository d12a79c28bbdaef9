# shellcheck shell=bash
# A Redis server with a replica, and Sentinels that watch it.

# shellcheck source=tests/lib/sentinel.bash
source "$LIB/sentinel.bash"

COLUMN=2
start_store() { start_sentinels "$@"; }
