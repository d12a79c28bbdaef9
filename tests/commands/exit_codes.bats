#!/usr/bin/env bats
# The exit table of the contract, row by row; the names quote it.
load ../lib/rlock

@test "the job's own: it ran, under the lock, to its end" {
  attempt -k "$K" -- sh -c 'redis-cli -s "$SERVER/redis.sock" exists "$K"; exit 7'
  assert_equal "$status" 7
  assert_output 1
  assert_silent
  free "$K"
}

all_codes() {
  local first=$1 last=$2 code got
  for ((code = first; code <= last; code++)); do
    got=0
    rlock -k "$K" -- sh -c "exit $code" || got=$?
    assert_equal "$got" "$code"
  done
}

@test "the job's own: all exit codes from 0 to 63" { all_codes 0 63; }
@test "the job's own: all exit codes from 64 to 127" { all_codes 64 127; }
@test "the job's own: all exit codes from 128 to 191" { all_codes 128 191; }
@test "the job's own: all exit codes from 192 to 255" { all_codes 192 255; }

@test "128+N: the job died of signal N" {
  local number got
  ulimit -c 0
  for number in {1..16} {24..27} {29..31} 34 64; do
    got=0
    rlock -k "$K" -- sh -c "kill -$number \$\$" || got=$?
    assert_equal "$got" $((128 + number))
  done
  free "$K"
}

@test "126: COMMAND could not be executed" {
  echo 'echo ran' >"$T/plain"
  attempt -k "$K" -- "$T/plain"
  assert_equal "$status" 126
  assert_one_stderr_line "cannot run '$T/plain': Permission denied"
  free "$K"
  attempt -k "$K" -- "$T"
  assert_equal "$status" 126
}

# not_executable TEXT COMMAND: 126, and the line says why.
not_executable() {
  local text=$1 command=$2
  attempt -k "$K" -- "$command"
  assert_equal "$status" 126
  assert_one_stderr_line "cannot run '$command': $text"
  free "$K"
}

@test "126: COMMAND is there and what executes it is not" {
  printf '#!/bin/sh\r\ntrue\r\n' >"$T/windows"
  printf '#! /no/such/perl -w\n' >"$T/script"
  printf '#!/bin/sh\ntrue\n' >"$T/fine"
  mkdir "$T/bin"
  printf '#!/no/such/sh' >"$T/bin/lonely"
  chmod +x "$T"/{windows,script,fine,bin/lonely}
  not_executable "its interpreter '/bin/sh\x0d' does not exist; its first line ends with a carriage return" "$T/windows"
  not_executable "its interpreter '/no/such/perl' does not exist" "$T/script"
  PATH=$T/bin:$PATH not_executable "its interpreter '/no/such/sh' does not exist" lonely
  attempt -k "$K" -- "$T/fine"
  assert_success
}

@test "126: COMMAND is a program whose loader is not there" {
  local program=$T/elf
  perl -0777 -pe 's{/lib(64)?/ld-}{"/none" . substr($&, 5)}e' "$(command -v sleep)" >"$program"
  chmod +x "$program"
  not_executable "its interpreter '/none" "$program"
}

@test "127: COMMAND was not found" {
  attempt -k "$K" -- nosuch-command
  assert_equal "$status" 127
  assert_one_stderr_line "cannot run 'nosuch-command': No such file or directory"
  free "$K"
  attempt -k "$K" -- "$T/nosuch/command"
  assert_equal "$status" 127
}

@test "126 and 127 are the job's own too" {
  attempt -k "$K" -- sh -c 'exit 127'
  assert_equal "$status" 127
  assert_silent
}

@test "64: usage error" {
  attempt -k "$K" --ttl 5x -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "--ttl" "5x"
  [[ ! -e $T/ran ]]
}

@test "69: no lock server could be reached" {
  attempt -S "unix://$T/nowhere.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line "cannot reach" "unix://$T/nowhere.sock"
  [[ ! -e $T/ran ]]
}

@test "70, 71: the system refused (fork)" {
  local as_nobody=()
  if ((EUID == 0)); then # root has no limit: another user, who may still open this test's files
    as_nobody=(setpriv --reuid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override)
  fi
  redis set "$K" other px 60000
  # the leak check of a sanitizer also forks
  launch waiter "${as_nobody[@]}" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$RLOCK_BIN" -q -k "$K" -w 60s -- touch "$T/ran"
  wait_queued "$K" 1
  "${as_nobody[@]}" prlimit --pid "${PIDS[waiter]}" --nproc=1:1
  redis del "$K"
  finish waiter
  assert_equal "$status" 71
  assert_one_stderr_line "Resource temporarily unavailable"
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "75: the lock is held by another" {
  redis set "$K" somebody px 60000
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "75: the wait ended" {
  redis set "$K" somebody px 60000
  attempt -k "$K" -w 200ms -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line "gave up on '$K' after 200ms"
  [[ ! -e $T/ran ]]
}

@test "75: -E changes it, 0 and 255 included" {
  local code
  redis set "$K" somebody px 60000
  for code in 0 9 255; do
    attempt -k "$K" -E "$code" -- touch "$T/ran"
    assert_equal "$status" "$code"
  done
  attempt -k "$K" --conflict-exit-code=9 -w 100ms -- touch "$T/ran"
  assert_equal "$status" 9
  [[ ! -e $T/ran ]]
}

@test "76: the lock was lost and the job was stopped; never 0" {
  start holder -k "$K" -t 600ms -- bash -c 'trap "exit 0" TERM; echo started; while :; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  redis del "$K"
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K'"
}

@test "77: the server refused the credentials" {
  own_server --requirepass right
  attempt -S "unix://:wrong@$SERVER/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line WRONGPASS
  [[ ! -e $T/ran ]]
}

@test "78: bad server URL" {
  attempt -S "http://example.com" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "http"
  [[ ! -e $T/ran ]]
}

@test "78: bad config file" {
  echo 'nonsense' >"$T/conf"
  attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf"
  [[ ! -e $T/ran ]]
}

@test "the release failed after the job ended: its code wins and stderr warns" {
  own_server
  attempt -k "$K" -- sh -c 'kill -KILL "$(cat "$SERVER/pid")"; exit 5'
  assert_equal "$status" 5
  [[ $stderr == 'rlock: '*release* ]] || fail "no warning: $stderr"
}
