#!/usr/bin/env bats
# file: a directory of this host, and no server at all.
load lib/rlock

setup_file() { :; }
teardown_file() { :; }
use_server() { export RLOCK_SERVER=file://$BATS_TEST_TMPDIR/locks; }
held() { rlock inspect -q "$1" 2>/dev/null; }

# in_line COUNT: so many wait for $K.
in_line() {
  local count=$1
  [[ $(json 'len(d["waiters"])' inspect --json "$K") == "$count" ]]
}

@test "file: alone is a directory that belongs to the user, the same for cron and for a login" {
  local place
  attempt -S file: -k "$K" -- "$RLOCK_BIN" -S file: list
  assert_success
  [[ $output == *"$K"* ]]
  for place in "/run/lock/rlock-$(id -u)" "/tmp/rlock-$(id -u)"; do
    [[ ! -d $place ]] || break
  done
  assert_equal "$(stat -c '%a %u' "$place")" "700 $(id -u)"
  attempt -S file: -k "$K" -- env -i "$RLOCK_BIN" -S file: -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  rm -rf "${place:?}/$K"
}

@test "a directory that somebody else made is not taken for one's own" {
  local user=$((50000 + RANDOM % 10000)) place
  ((EUID == 0)) || skip 'only root can become somebody else'
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

@test "nothing is left of a run but the file with the last fence" {
  attempt -k "$K" -- true
  assert_equal "$(find "$T/locks" -type p -o -type f | wc -l)" 1
  assert_equal "$(find "$T/locks" -type f)" "$T/locks/$K/ledger"
}

@test "what killed processes left is taken away by the next one" {
  local number
  hold holder -k "$K"
  for number in 1 2 3; do
    start "w$number" -k "$K" -w 60s -- true
    wait_until in_line "$number"
  done
  for number in w1 w2 w3 holder; do
    signal KILL "$number"
    wait_until gone "${PIDS[$number]}"
  done
  touch "$T/holder.go"
  attempt -k "$K" -- true
  assert_success
  assert_equal "$(find "$T/locks" -type p -o -type f | wc -l)" 1
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
  assert_less "$(($(now_ms) - from))" 2000
  touch "$T/holder.go"
}

@test "the end of one in the middle of the line is heard as well" {
  hold holder -k "$K"
  start dead -k "$K" -w 60s -- true
  wait_until in_line 1
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 2
  signal KILL dead
  wait_until gone "${PIDS[dead]}"
  wait_until in_line 1
  let_go holder
  finish waiter
  assert_success
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

@test "the last of many readers lets the writer in, however they end" {
  local number
  for number in {1..8}; do
    hold "r$number" -k "$K" --shared
  done
  start writer -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  for number in {1..8}; do
    if ((number % 2)); then
      signal KILL "r$number"
      wait_until gone "${PIDS[r$number]}"
      touch "$T/r$number.go"
    else
      let_go "r$number"
    fi
  done
  finish writer
  assert_output 'my turn'
}

@test "readers, writer, readers: nobody starves, and readers run together" {
  local name number=0
  hold holder -k "$K"
  for name in r1 r2 w r3 r4; do
    if [[ $name == w ]]; then
      start $name -k "$K" -w 60s -- sh -c "echo w >>'$T/order'"
    else
      start $name -k "$K" -w 60s --shared -- sh -c "echo r >>'$T/order'; sleep 0.2"
    fi
    wait_until in_line $((++number))
  done
  let_go holder
  for name in r1 r2 w r3 r4; do
    finish $name
  done
  assert_equal "$(paste -sd ' ' "$T/order")" 'r r w r r'
}

@test "a permit of a killed holder is given on" {
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  start three -k "$K" -w 60s --permits 2 -- echo 'my turn'
  wait_until in_line 1
  signal KILL one
  finish three
  assert_output 'my turn'
  touch "$T/one.go"
  let_go two
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
