# shellcheck shell=bash
# A Redis server on a Unix socket.

COLUMN=2
start_store() { own_server; }
