# shellcheck shell=bash
# A directory of this host.

COLUMN=7
start_store() { export RLOCK_SERVER=file://$BATS_FILE_TMPDIR/locks; }

slots_file() { echo "${RLOCK_SERVER#file://}/$K/slots"; }
keep_slot() { cp "$(slots_file)" "$T/slots"; }
put_back_slot() { cp "$T/slots" "$(slots_file)"; }
lose_slot() { rm "$(slots_file)"; }
