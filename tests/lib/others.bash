# shellcheck shell=bash
# Another user on the same host.

SOMEBODY=54321

# need_root: for a test that becomes another user
need_root() {
  ((EUID == 0)) || skip 'only root can become another user: run the tests as root'
}

# let_others_in: to $T, where OTHERS_RLOCK is a copy of rlock that they may run.
let_others_in() {
  local directory=$T
  need_root
  while [[ $directory == "$BATS_RUN_TMPDIR"* ]]; do
    chmod o+x "$directory"
    directory=${directory%/*}
  done
  OTHERS_RLOCK=$T/bin/rlock
  install -D -m 755 "$RLOCK_BIN" "$OTHERS_RLOCK"
}

# as_user UID COMMAND...: with nothing of our environment but RLOCK_SERVER and the test's mark.
as_user() {
  local uid=$1
  shift
  setpriv --reuid "$uid" --regid "$uid" --clear-groups \
    env -i PATH="$PATH" TEST_MARK="$TEST_MARK" RLOCK_SERVER="${RLOCK_SERVER:-}" "$@" 3>&-
}
