# shellcheck shell=bash
# For tests on a system that refuses newer calls; loaded after lib/rlock.

# refuse CALL:ERRNO...: from now on RLOCK_BIN is an rlock to which the system refuses these calls.
refuse() {
  local - && set +T
  export REFUSE_BIN=${REFUSE_BIN:-$RLOCK_BIN} REFUSE=$*
  RLOCK_BIN=$BATS_FILE_TMPDIR/refuse
  [[ -x $RLOCK_BIN ]] || gcc -O1 -Wall -Wextra -Werror -o "$RLOCK_BIN" "$LIB/refuse.c"
}
