# shellcheck shell=bash
# A Redis server that speaks TLS.

# shellcheck source=tests/lib/tls.bash
source "$LIB/tls.bash"

COLUMN=2
start_store() { tls_server --loglevel warning; }
