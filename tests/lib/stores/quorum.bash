# shellcheck shell=bash
# Three independent Redis servers.

# shellcheck source=tests/lib/quorum.bash
source "$LIB/quorum.bash"

COLUMN=3
start_store() { start_quorum "$@"; }
