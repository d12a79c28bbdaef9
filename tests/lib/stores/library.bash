# shellcheck shell=bash
# A Redis server, and runs by librlock in place of the program (tests/library/run.cpp), as far as they are the library's.

COLUMN=2
start_store() {
  own_server
  export RLOCK_BIN=${RLOCK_BIN%/*}/library-run
}
