#!/usr/bin/env bats
# force-release: exactly the holder that was shown, told at once, and whether it stopped.
load ../lib/rlock

@test "without a terminal and without --yes it does nothing: 64" {
  hold holder -k "$K"
  run --separate-stderr bash -c '"$RLOCK_BIN" force-release "$K" </dev/null'
  assert_equal "$status" 64
  assert_stderr_line --yes
  held "$K"
  let_go holder
  assert_success
}

@test "nobody holds it: 1" {
  attempt force-release "$K" --yes
  assert_equal "$status" 1
}

@test "the holder is told at once, stops its job and exits 76 with who did it" {
  local before
  own_server
  hold holder -k "$K" -t 60s --label nightly
  wait_until listening 1 # the second connection comes when the job outlives a second
  before=$(now_ms)
  attempt force-release "$K" --yes
  assert_success
  finish holder
  assert_less $(($(now_ms) - before)) 15000 # a refresh would come after 20 s
  assert_equal "$status" 76
  assert_stderr_line "force-released by $(id -un)@$(hostname)"
  free "$K"
}

@test "it shows whom it removed, and says that the holder stopped" {
  own_server
  hold holder -k "$K" -t 60s --label nightly
  wait_until listening 1
  run rlock force-release "$K" --yes
  assert_success
  assert_output --partial nightly
  assert_output --partial stopped
  finish holder
  assert_equal "$status" 76
}

@test "a holder that is deaf is not said to have stopped" {
  start holder -k "$K" -t 9s --label nightly -- "$LIB/until-file" "$T/holder.go"
  wait_until says "$T/holder.out" started
  kill -STOP "${PIDS[holder]}"
  run rlock force-release "$K" --yes --wait 200ms
  assert_success
  assert_output --partial 'not'
  free "$K"
  kill -CONT "${PIDS[holder]}"
  finish holder
  assert_equal "$status" 76
}

@test "of a lock of acquire it does not say that a job is stopped" {
  attempt acquire -k "$K" --ttl 60s
  run in_terminal "expect It is a lock of rlock acquire: its steps will go on running." "expect Type 'yes': " 'send yes\r' \
    'expect what runs under it may still be running' -- "$RLOCK_BIN" force-release "$K"
  assert_success
  free "$K"
}

@test "a foreign holder is also removed" {
  redis set "$K" redlock-token px 60000
  run rlock force-release "$K" --yes --wait 100ms
  assert_success
  assert_output --partial redlock-token
  free "$K"
}

@test "the lock goes to the one who waits longest" {
  own_server
  hold holder -k "$K" -t 60s
  wait_until listening 1
  start first -k "$K" -q -w 60s -- "$LIB/until-file" "$T/first.go"
  wait_queued "$K" 1
  start second -k "$K" -q -w 60s -- true
  wait_queued "$K" 2
  run rlock force-release "$K" --yes
  assert_success
  wait_until says "$T/first.out" started
  finish holder
  assert_equal "$status" 76
  let_go first
  assert_success
  finish second
  assert_success
}

@test "with --on-lost warn the job of a removed holder runs on" {
  own_server
  start holder -k "$K" -t 60s --on-lost warn -- "$LIB/until-file" "$T/holder.go" 3
  wait_until says "$T/holder.out" started
  wait_until listening 1
  rlock force-release "$K" --yes --wait 200ms
  wait_until says "$T/holder.err" 'force-released by'
  let_go holder
  assert_equal "$status" 3
}

@test "the removed holder's job is gone when force-release says stopped" {
  own_server
  start holder -k "$K" -t 60s --grace 5s -- bash -c 'trap "sleep 0.3; exit" TERM; echo started; while :; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  wait_until listening 1
  run rlock force-release "$K" --yes
  assert_success
  assert_output --partial stopped
  run pgrep_own 'trap "sleep 0.3'
  assert_output ''
  finish holder
  assert_equal "$status" 76
}

# Processes of this test, without rlock itself, whose command line has TEXT.
pgrep_own() {
  local text=$1 pid
  for pid in $(marked_processes); do
    # A process that ends meanwhile has no command line.
    if [[ $pid != "${PIDS[holder]}" ]] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -e "$text"; then
      echo "$pid"
    fi
  done
}

@test "a fence after a forced release is greater than before" {
  local before
  own_server
  hold holder -k "$K" -t 60s
  before=$(fence "$K")
  wait_until listening 1
  rlock force-release "$K" --yes
  finish holder
  run rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"'
  assert_less "$before" "$output"
}
