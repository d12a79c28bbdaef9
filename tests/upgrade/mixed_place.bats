#!/usr/bin/env bats
# Root's `file:` was below /run/lock before: a host on which jobs of the version before this one still run.
load ../lib/rlock
load ../lib/namespaces
load ../lib/local
load ../lib/versions

setup_file() { find_versions; }

@test "root's jobs of the version before this one exclude those of this one, and the other way round" {
  ((EUID == 0)) || skip 'the place is root'"'"'s'
  own_mounts
  # shellcheck disable=SC2016
  run "${INSIDE[@]}" bash -euc '
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -m 1777 /run/lock
    old() { "$PREVIOUS_BIN" -S file: "$@"; }
    new() { "$NEW_BIN" -S file: "$@"; }
    old -k k -- env -i "$NEW_BIN" -S file: -q -k k -- true || echo "the new one: $?"
    new -k k -- env -i "$PREVIOUS_BIN" -S file: -q -k k -- true || echo "the old one: $?"
    find /run -name k' 3>&-
  assert_output $'the new one: 75\nthe old one: 75\n/run/lock/rlock-0/k'
  assert_success
}
