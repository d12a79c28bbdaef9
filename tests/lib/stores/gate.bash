# shellcheck shell=bash
# A Redis server behind a gate: of the waiters on this host one waits at the server.

COLUMN=2
start_store() {
  own_server
  export RLOCK_LOCAL_GATE=yes
}

# The server does not see the waiters behind the gate, and could not tell their number.
can() { [[ $1 != --max-waiters && $1 != --supersede && $1 != first* ]] && in_table "$1"; }
