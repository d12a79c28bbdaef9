#!/usr/bin/env bats
# Where `file:` alone, and the gates, have their directory: where no other user can keep a user from it.
load ../../lib/rlock
load ../../lib/namespaces
load ../../lib/local
load ../../lib/others

# in_own_run SCRIPT: bash with a /run of its own, in which `as UID COMMAND...` is another user
in_own_run() {
  ((EUID == 0)) || skip 'only root can become somebody else'
  let_others_in
  export OTHERS_RLOCK
  own_mounts
  # shellcheck disable=SC2016
  run --separate-stderr "${INSIDE[@]}" bash -euc '
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -m 1777 /run/lock
    mkdir /run/user
    rlock() { "$OTHERS_RLOCK" -S file: "$@"; }
    as() {
      local uid=$1
      shift
      setpriv --reuid "$uid" --regid "$uid" --clear-groups env -i PATH="$PATH" TEST_MARK="$TEST_MARK" "$@"
    }
    user() { as '"$SOMEBODY"' "$@"; }
    theirs() { user env ${SESSION:+XDG_RUNTIME_DIR=$SESSION} "$OTHERS_RLOCK" -S file: "$@"; }
    '"$1" 3>&-
}

@test "root's own directory is one that only root can make" {
  # shellcheck disable=SC2016
  in_own_run '
    user mkdir /run/lock/rlock-0
    rlock -k k -- true
    stat -c "%a %u" /run/rlock
    rlock -k k -- env -i "$OTHERS_RLOCK" -S file: -k k -- true || echo $?
    ls /run/rlock /run/lock/rlock-0'
  assert_success
  assert_output $'700 0\n75\n/run/lock/rlock-0:\n\n/run/rlock:\nk'
}

@test "where root's jobs of an earlier version have their directory, root stays until the host restarts" {
  # shellcheck disable=SC2016
  in_own_run '
    mkdir -m 700 /run/lock/rlock-0
    rlock -k k --slot s -- true
    rlock -k k --slot s -- echo twice
    find /run -name k
    rm -r /run/lock/rlock-0
    rlock -k k --slot s -- echo once
    mkdir -m 700 /run/lock/rlock-0
    rlock -k k --slot s -- echo twice
    find /run -name k'
  assert_success
  assert_output $'/run/lock/rlock-0/k\nonce\n/run/rlock/k'
}

@test "a user whose directory another user took has one in his runtime directory, in a session and in cron" {
  # shellcheck disable=SC2016
  in_own_run '
    as 54322 mkdir /run/lock/rlock-54321
    install -d -o 54321 -m 700 /run/user/54321
    SESSION=/run/user/54321 theirs -k k -- env -i "$OTHERS_RLOCK" -S file: -k k -- true || echo $?
    theirs -k k -- env -i XDG_RUNTIME_DIR=/run/user/54321 "$OTHERS_RLOCK" -S file: -k k -- true || echo $?
    stat -c "%a %u" /run/user/54321/rlock
    # And so it stays: somebody holds a lock there.
    rmdir /run/lock/rlock-54321
    theirs -k k -- true
    ls /run/lock'
  assert_success
  assert_output $'75\n75\n700 54321'
}

@test "a user has the same directory with and without a session while nobody took it" {
  # shellcheck disable=SC2016
  in_own_run '
    theirs -k k -- true
    install -d -o 54321 -m 700 /run/user/54321
    SESSION=/run/user/54321 theirs -k k -- true
    find /run -name k'
  assert_success
  assert_output /run/lock/rlock-54321/k
}

@test "without a runtime directory the message names whose directory is in the way and what to do" {
  # shellcheck disable=SC2016
  in_own_run '
    as 54322 mkdir /run/lock/rlock-54321
    install -d -o 54322 -m 700 /run/user/54321
    theirs -k k -- echo ran'
  assert_equal "$status" 77
  refute_output
  [[ $stderr == *"/run/lock/rlock-54321: it belongs to user 54322, not to you"*"-S file:///DIRECTORY"* ]]
  in_own_run 'as 54322 ln -s /root /run/lock/rlock-54321; theirs -k k -- echo ran'
  assert_equal "$status" 77
  [[ $stderr == *"/run/lock/rlock-54321: a symbolic link"* ]]
}
