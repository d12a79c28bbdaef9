#!/usr/bin/env bats
# rlock's files are for its user alone, with any umask, and it avoids other users' traps in a shared directory.
load ../lib/rlock
load ../lib/others

# The modes of all below DIRECTORY that are not the expected ones.
odd_modes() {
  local directory=$1 directories=$2 files=$3
  find "$directory" -mindepth 1 \( -type d ! -perm "$directories" -o ! -type d ! -perm "$files" \) -printf '%m %P\n'
}

kinds() { find "$1" -mindepth 1 -printf '%y\n' | sort | uniq -c | tr -s ' \n' ' '; }

@test "a status file and GitHub's output are for the user alone, whatever the umask is" {
  local mask
  for mask in 000 022 077; do
    umask "$mask"
    mkdir "$T/$mask"
    attempt -w 10s --status-file "$T/$mask/status" -k "$K" -- sh -c umask
    assert_output "0$mask"
    GITHUB_OUTPUT=$T/$mask/github attempt acquire --github-output -w 10s -t 100ms -k "$K"
    assert_success
    assert_equal "$(kinds "$T/$mask")" ' 2 f '
    assert_equal "$(odd_modes "$T/$mask" 700 600)" ''
  done
}

@test "so is what a lock of this host leaves in its directory while it is held, waited for and free" {
  local mask
  for mask in 000 022 077 177; do
    export RLOCK_SERVER=file://$T/one-$mask/two/locks
    mkdir "$T/one-$mask"
    umask "$mask"
    hold holder -k "$K" -s --min-hold 300ms
    start waiter -k "$K" -w 60s -- true
    wait_until says "$T/waiter.err" 'waiting for'
    assert_equal "$(kinds "$T/one-$mask")" ' 3 d 5 f 2 p '
    assert_equal "$(odd_modes "$T/one-$mask" 700 600)" ''
    let_go holder
    finish waiter
    assert_success
    assert_equal "$(kinds "$T/one-$mask")" ' 3 d 2 f '
    assert_equal "$(odd_modes "$T/one-$mask" 700 600)" ''
    umask 022
  done
}

@test "so are the gates of those who wait on a host" {
  local place
  umask 000
  hold holder -k "$K"
  start first --local-gate -k "$K" -w 60s -- true
  wait_queued "$K" 1
  start second --local-gate -k "$K" -w 60s -- true
  wait_until says "$T/second.err" 'waiting for'
  place=$(find /run/rlock/.gates "/run/lock/rlock-$EUID/.gates" "/tmp/rlock-$EUID/.gates" -name "$K" 2>/dev/null | head -n 1)
  assert_equal "$(kinds "$place")" ' 4 f 2 p '
  assert_equal "$(odd_modes "$place" 700 600)" ''
  assert_equal "$(stat -c %a "$place" "${place%/*}" "${place%/*/*/*}" | sort -u)" 700
  umask 022
  let_go holder
  finish first
  finish second
  assert_success
}

@test "a umask that takes the user's own rights takes none of a new directory for locks" {
  (umask 0777 && "$RLOCK_BIN" -S "file:$T/locks" -k "$K" -- true)
  assert_equal "$(stat -c %a "$T/locks")" 700
}

@test "a directory for locks that everybody may write to is refused, and nothing is put there" {
  local mode
  mkdir "$T/locks"
  for mode in 777 757 703; do
    chmod "$mode" "$T/locks"
    attempt -S "file://$T/locks" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 77
    assert_one_stderr_line "$T/locks" 'everybody may write there' 'chmod o-w'
    attempt -S "file://$T/locks" inspect "$K"
    assert_equal "$status" 77
  done
  [[ ! -e $T/ran && -z $(ls -A "$T/locks") ]]
}

@test "one that a group may write to has locks for the group, whatever the umask is" {
  let_others_in
  mkdir "$T/locks"
  chgrp "$SOMEBODY" "$T/locks"
  chmod 2770 "$T/locks"
  export RLOCK_SERVER=file://$T/locks
  umask 077
  hold holder -k "$K"
  umask 022
  assert_equal "$(odd_modes "$T/locks" 2770 660)" ''
  assert_equal "$(find "$T/locks" -mindepth 1 ! -gid "$SOMEBODY")" ''
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_output --partial "held by $(id -un)@"
  signal KILL holder
  finish holder
  # Leftovers of root's dead process do not keep the group out.
  umask 077
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -w 10s -- echo ran
  assert_output --partial ran
  umask 022
  end_leftovers
  assert_equal "$(odd_modes "$T/locks" 2770 660)" ''
}

@test "in a sticky directory a key is that of the user who is at it, and then the next one's" {
  let_others_in
  mkdir -m 1777 "$T/locks"
  export RLOCK_SERVER=file://$T/locks
  umask 000
  hold holder -k "$K"
  assert_equal "$(odd_modes "$T/locks" 700 600)" ''
  umask 022
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_output --partial "$T/locks/$K: another user's: locks of several users take a directory that a group"
  let_go holder
  assert_success
  assert_equal "$(ls -A "$T/locks")" ''
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -- stat -c %u "$T/locks/$K"
  assert_output "$SOMEBODY"
  attempt -k "$K" -- echo 'mine again'
  assert_output 'mine again'
}

@test "in a sticky directory nobody takes what somebody else laid out for a lock" {
  mkdir -m 1777 "$T/locks"
  export RLOCK_SERVER=file://$T/locks
  # A directory, or a link to one of ours, that somebody laid out for us.
  mkdir -m 777 "$T/locks/laid" "$T/ours"
  chown "$SOMEBODY" "$T/locks/laid"
  echo 'a file of our own' >"$T/ours/ledger"
  ln -s "$T/ours" "$T/locks/linked"
  for K in laid linked; do
    attempt -k "$K" -- touch "$T/ran"
    assert_equal "$status" 77
    assert_one_stderr_line "$T/locks/$K"
  done
  assert_equal "$(<"$T/ours/ledger")" 'a file of our own'
  assert_equal "$(ls -A "$T/locks/laid" "$T/ours")" "$T/locks/laid:

$T/ours:
ledger"
  [[ ! -e $T/ran ]]
}

@test "somebody else's link is not followed by a status file" {
  mkdir -m 1777 "$T/shared"
  echo precious >"$T/ours"
  ln -s "$T/ours" "$T/shared/status"
  chown -h "$SOMEBODY" "$T/shared/status"
  attempt --status-file "$T/shared/status" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line --status-file "belongs to user $SOMEBODY"
  [[ ! -e $T/ran ]]
  # Nor one that appears while the job runs; the job's exit code stays.
  rm "$T/shared/status"
  attempt --status-file "$T/shared/status" -k "$K" -- sh -c 'ln -s "$T/ours" "$T/shared/status"; chown -h 54321 "$T/shared/status"; exit 3'
  assert_equal "$status" 3
  assert_one_stderr_line --status-file "belongs to user $SOMEBODY"
  assert_equal "$(<"$T/ours")" precious
}
