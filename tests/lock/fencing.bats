#!/usr/bin/env bats
# Accidents that a lock cannot prevent, but a resource that checks the fence can.
load ../lib/rlock

new_database() {
  sqlite3 "$T/db" "CREATE TABLE account (id INTEGER PRIMARY KEY, value TEXT, fence INTEGER NOT NULL);
    INSERT INTO account VALUES (1, 'nobody', 0);"
}

value() { sqlite3 "$T/db" 'SELECT value FROM account'; }

fenced_write() { "$REPO/scripts/demo/fenced-write" "$T/db" "$@"; }

# A job that waits for $T/NAME.go, then writes NAME and notes how that went.
write_when_told() {
  local name=$1
  shift
  start "$name" -k "$K" "$@" -- bash -c '
    "$LIB/until-file" "$T/$1.go"
    "$REPO/scripts/demo/fenced-write" "$T/db" "$1"
    echo "wrote: $?" | tee "$T/$1.result"' - "$name"
  wait_until says "$T/$name.out" started
}

# All processes of a run: rlock, its job, and what that started.
processes_of() {
  local name=$1
  grep -lazsxF "RLOCK_TOKEN=$(redis get "$K")" /proc/[0-9]*/environ | grep -oE '[0-9]+' || true
}

# signal_all SIGNAL PID...: one of them may be a sleep of until-file's that has just ended.
signal_all() {
  local signal=$1 pid
  shift
  for pid in "$@"; do
    kill "-$signal" "$pid" 2>/dev/null || true
  done
}

@test "a write under the lock succeeds, and so does the next holder's" {
  new_database
  attempt -k "$K" -- "$REPO/scripts/demo/fenced-write" "$T/db" "it's mine"
  assert_success
  assert_equal "$(value)" "it's mine"
  attempt -k "$K" -- "$REPO/scripts/demo/fenced-write" "$T/db" next
  assert_success
  assert_equal "$(value)" next
}

@test "a holder that was paused beyond its lease and came back is refused by the resource" {
  local paused
  new_database
  write_when_told first --ttl 3s
  paused=$(processes_of first)
  [[ -n $paused ]]
  # the machine stalls: rlock, its job's guardian and its whole job
  # shellcheck disable=SC2086
  signal_all STOP "${PIDS[first]}" "$(guardian_of first)" $paused
  # its lease ends, another takes over and writes
  attempt -k "$K" -w 30s -- "$REPO/scripts/demo/fenced-write" "$T/db" second
  assert_success
  assert_equal "$(value)" second
  # the job goes on a moment before its rlock, and writes as if nothing had happened
  touch "$T/first.go"
  # shellcheck disable=SC2086
  signal_all CONT $paused
  wait_until says "$T/first.result" wrote
  assert_equal "$(<"$T/first.result")" 'wrote: 1'
  says "$T/first.err" 'fenced-write: refused'
  assert_equal "$(value)" second
  kill -CONT "${PIDS[first]}" "$(guardian_of first)"
  finish first
  # the job may have ended before rlock looked, but the lock was lost: that is said in any case
  assert_stderr_line "lost"
}

@test "without the fence the same story ends badly" {
  local paused
  new_database
  start first -k "$K" --ttl 3s -- bash -c '"$LIB/until-file" "$T/first.go"
    sqlite3 "$T/db" "UPDATE account SET value = '\''first'\''"; echo done >"$T/first.result"'
  wait_until says "$T/first.out" started
  paused=$(processes_of first)
  # shellcheck disable=SC2086
  signal_all STOP "${PIDS[first]}" "$(guardian_of first)" $paused
  attempt -k "$K" -w 30s -- "$REPO/scripts/demo/fenced-write" "$T/db" second
  assert_success
  touch "$T/first.go"
  # shellcheck disable=SC2086
  signal_all CONT $paused
  wait_until says "$T/first.result" 'done'
  assert_equal "$(value)" first
  kill -CONT "${PIDS[first]}" "$(guardian_of first)"
  finish first
}

@test "the example wants a fence" {
  new_database
  RLOCK_FENCE='' run fenced_write x
  assert_equal "$status" 2
  RLOCK_FENCE='1; DROP TABLE account' run fenced_write x
  assert_equal "$status" 2
  assert_equal "$(value)" nobody
}

@test "a fence that leaves no room for a next one is refused, and said: 78" {
  local number
  for number in 9007199254740991 9007199254740992 100000000000000000000; do
    redis set "$(companion "$K" fence)" "$number x" >/dev/null
    attempt -k "$K" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "$number" "$(companion "$K" fence)"
    [[ ! -e $T/ran ]]
    free "$K"
  done
  redis set "$(companion "$K" fence)" '9007199254740989 x' >/dev/null
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  assert_output 9007199254740990
}
