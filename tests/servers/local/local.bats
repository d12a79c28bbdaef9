#!/usr/bin/env bats
# file: a directory of this host, and no server at all.
load ../../lib/rlock
load ../../lib/local
load ../../lib/others

@test "file: alone is a directory that belongs to the user, the same for cron and for a login" {
  local place
  attempt -S file: -k "$K" -- "$RLOCK_BIN" -S file: list
  assert_success
  [[ $output == *"$K"* ]]
  for place in /run/rlock "/run/lock/rlock-$(id -u)" "/tmp/rlock-$(id -u)"; do
    [[ ! -d $place/$K ]] || break
  done
  assert_equal "$(stat -c '%a %u' "$place")" "700 $(id -u)"
  attempt -S file: -k "$K" -- env -i "$RLOCK_BIN" -S file: -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  rm -rf "${place:?}/$K"
}

@test "a directory that somebody else made is not taken for one's own" {
  local user=$((50000 + RANDOM % 10000)) place
  need_root
  place=/run/lock/rlock-$user
  [[ -d /run/lock ]] || place=/tmp/rlock-$user
  mkdir -m 777 "$place"
  mkdir -m 755 "/tmp/rlock-bin.$user"
  cp "$RLOCK_BIN" "/tmp/rlock-bin.$user/rlock"
  run setpriv --reuid "$user" --regid "$user" --clear-groups env -i "/tmp/rlock-bin.$user/rlock" -S file: -k x -- true
  rm -rf "$place" "/tmp/rlock-bin.$user"
  assert_equal "$status" 77
  assert_output --partial "$place"
}

@test "nothing is left of a run that is not remembered but the file with the last fence" {
  attempt -k "$K" --history 0 -- true
  assert_equal "$(find "$T/locks" -type p -o -type f | wc -l)" 1
  assert_equal "$(find "$T/locks" -type f)" "$T/locks/$K/ledger"
}

@test "the lock of a killed holder passes on when the last of its job is gone" {
  hold_stubborn holder
  # shellcheck disable=SC2016
  start waiter -k "$K" -w 60s -- bash -c 'echo "${EPOCHREALTIME/[.,]/}"'
  wait_until in_line 1
  signal KILL holder
  finish waiter
  assert_success
  assert_less "$(tail -n 1 "$T/beat")" "$output"
}

@test "the end of a killed holder is heard at once, whatever its ttl" {
  local from
  hold holder -k "$K" --ttl 1h
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 1
  from=$(now_ms)
  signal KILL holder
  finish waiter
  assert_success
  assert_less "$(($(now_ms) - from))" 15000
  touch "$T/holder.go"
}

@test "a holder that was paused for longer than its ttl still has its lock, and its job goes on" {
  hold holder -k "$K" --ttl 500ms
  signal STOP holder
  attempt -k "$K" -w 1s -q -- touch "$T/ran"
  assert_equal "$status" 75
  signal CONT holder
  let_go holder
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a holder that is stuck loses the lock to force-release, and hears of it when it comes to" {
  hold holder -k "$K"
  signal STOP holder
  attempt force-release --yes --wait 100ms "$K"
  assert_success
  attempt -k "$K" -- echo ran
  assert_output ran
  signal CONT holder
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'force-released by'
}

@test "a lock whose directory was deleted is lost" {
  hold holder -k "$K" --ttl 500ms
  rm -r "$T/locks"
  finish holder
  assert_equal "$status" 76
}

@test "a directory that may not be written to exits 77, a key too long for a file's name 69" {
  attempt -S file:///proc -k "$K" -- touch "$T/ran"
  [[ $status == 77 || $status == 69 ]]
  assert_one_stderr_line '/proc'
  attempt -k "$(printf 'x%.0s' {1..300})" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'too long'
  [[ ! -e $T/ran ]]
}

@test "URLs that are no directory exit 78" {
  local url
  for url in file://host/dir file:relative 'file:///dir?x=1' file://user@/dir file:///%zz; do
    attempt -S "$url" -k "$K" -- true
    assert_equal "$status" 78
    assert_one_stderr_line
  done
}

@test "in a cron line, in place of flock -n" {
  attempt -S "file:///$T/locks" -n -k "$K" -c 'echo ran; exit 4'
  assert_equal "$status" 4
  assert_output ran
}

@test "a file that is not ours in the lock's directory does no harm" {
  mkdir -p "$T/locks/$K"
  echo garbage >"$T/locks/$K/ledger"
  echo garbage >"$T/locks/$K/readme"
  echo garbage >"$T/locks/$K/00000000000000000007.who"
  attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
  [[ -e $T/locks/$K/readme ]]
}

@test "files that root makes in a user's directory belong to the user: neither blocks the other" {
  let_others_in
  install -d -o "$SOMEBODY" "$T/locks"
  hold holder -k "$K"
  assert_equal "$(find "$T/locks" ! -user "$SOMEBODY")" ''
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" true
  assert_equal "$status" 75
  signal KILL holder
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -w 20s -- echo 'my turn'
  assert_output --partial 'my turn'
  touch "$T/holder.go"
}

@test "a holder that one may not read is a holder" {
  let_others_in
  install -d -o "$SOMEBODY" "$T/locks"
  hold holder -k "$K"
  find "$T/locks" -name '*.who' -exec chmod 0 {} +
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" true
  assert_equal "$status" 75
  assert_output --partial '(unreadable)'
  let_go holder
  assert_success
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" -w 20s -- echo 'my turn'
  assert_output --partial 'my turn'
}

@test "a holder whose grant one may not read is a holder, not a waiter" {
  let_others_in
  install -d -o "$SOMEBODY" "$T/locks"
  hold holder -k "$K"
  find "$T/locks" -name '*.grant' -exec chmod 0 {} +
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" list
  assert_output --regexp 'KEY .*HOLDER.*
.*until-file'
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" --supersede=waiting -w 1s true
  assert_equal "$status" 75
  assert_equal "$(find "$T/locks" -name '*.grant' | wc -l)" 1
  let_go holder
}

@test "a holder whose files are damaged is a holder, not a waiter" {
  local file
  hold holder -k "$K"
  for file in grant who; do
    find "$T/locks" -name "*.$file" -exec sh -c 'echo zzz >"$1"' - {} \;
    attempt list --json
    assert_success
    assert_equal "$(jq -c '[.locks[] | [.holders[0].held_ms, .holders[0].fence, (.waiters | length)]]' <<<"$output")" \
      '[[null,null,0]]'
    attempt -k "$K" -w 1s -- touch "$T/ran"
    assert_equal "$status" 75
  done
  let_go holder
  attempt -k "$K" -- true
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a lock that nobody has used for a day, and of which nothing is to be remembered, is removed" {
  local by
  for by in inspect list log another; do
    attempt -k "$K" --history 1h -- true
    attempt -k "$K.s" --history 1h --slot s -- true
    touch -d '2 days ago' "$T/locks/$K/"* "$T/locks/$K.s/"*
    case $by in
      inspect) attempt inspect "$K" ;;
      another) attempt -k "another.$by" --history 0 -- true ;;
      *) attempt "$by" ;;
    esac
    [[ ! -e $T/locks/$K ]]
    [[ -e $T/locks/$K.s ]] # its slot is remembered by what stands in the file
    rm -r "$T/locks"
  done
}

@test "records stay while the lock is in use, and for as long as --history says" {
  attempt -k "$K" -- true
  touch -d '2 days ago' "$T/locks/$K/"*
  attempt log "$K"
  assert_line --index 1 --partial 'exit 0'
  [[ -e $T/locks/$K/ledger ]]
  hold holder -k "$K" --history 100ms -t 600ms
  sleep 0.5
  attempt log "$K"
  assert_line --index 1 --partial running
  let_go holder
}

@test "another file in place of the records blocks no lock; a slot that cannot be recorded is not run" {
  attempt -k "$K" -- true
  rm "$T/locks/$K/runs"
  echo precious >"$T/precious"
  ln -s "$T/precious" "$T/locks/$K/runs"
  ln -s "$T/precious" "$T/locks/$K/slots"
  attempt -k "$K" -- echo ran
  assert_output ran
  attempt log "$K"
  assert_success
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line "$T/locks/$K/slots: a symbolic link"
  [[ ! -e $T/ran ]]
  assert_equal "$(<"$T/precious")" precious
}

@test "a sticky directory remembers nothing, and has no slots" {
  mkdir -m 1777 "$T/sticky"
  attempt -S "file://$T/sticky" -k "$K" -- true
  assert_success
  assert_equal "$(ls -A "$T/sticky")" ''
  attempt -S "file://$T/sticky" -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line 'no slot is remembered' 'chmod 2770'
  [[ ! -e $T/ran ]]
}

@test "those who share a directory share its memory" {
  let_others_in
  mkdir "$T/locks"
  chgrp "$SOMEBODY" "$T/locks"
  chmod 2770 "$T/locks"
  attempt -k "$K" --slot s -- sh -c 'exit 3'
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" --slot s --share -- touch "$T/ran"
  assert_equal "$status" 3
  run as_user "$SOMEBODY" "$OTHERS_RLOCK" -k "$K" --slot t -- true
  attempt -k "$K" --slot t --share -- touch "$T/ran"
  assert_success
  attempt log "$K"
  assert_equal "${#lines[@]}" 3
  [[ ! -e $T/ran ]]
}

@test "a slot whose end cannot be written is not done, which is said, and no run has done it" {
  # shellcheck disable=SC2016
  attempt -S "file:$T/locks" -k "$K" --slot s -- sh -c 'cd "$1" && rm slots && mkdir slots' - "$T/locks/$K"
  assert_success
  assert_one_stderr_line "could not release the lock '$K'" 'it ends with this process'
  rmdir "$T/locks/$K/slots"
  run json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json -S "file:$T/locks" "$K"
  assert_output '["lost"]'
  attempt -S "file:$T/locks" -k "$K" --slot s -- echo ran
  assert_output ran
}

@test "a key that cannot be read does not hide the others from a list" {
  hold holder -S "file:$T/locks" -k "$K"
  mkdir -p "$T/locks/sick/ledger"
  attempt list -S "file:$T/locks" --json
  assert_failure 77
  assert_output --partial "\"$K\""
  assert_one_stderr_line 'this is not all: ' "the lock 'sick': "
  let_go holder
}
