#!/usr/bin/env bats
# --min-hold: the key stays taken though the job was quicker.
load ../lib/rlock

@test "the key stays taken for as long after the grant, by the token that held it, and then is free" {
  local before
  before=$(now_ms)
  attempt -k "$K" --min-hold 8s -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_success
  assert_less $(($(now_ms) - before)) 7900 # nobody slept
  assert_equal "$(redis get "$K")" "$output"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  wait_free "$K"
  assert_less 7990 $(($(now_ms) - before))
}

@test "cron on two hosts whose clocks differ runs a quick job once" {
  attempt -q -k "$K" --min-hold 60s -- sh -c "echo x >>'$T/ran'"
  assert_success
  attempt -q -k "$K" --min-hold 60s -- sh -c "echo x >>'$T/ran'"
  assert_equal "$status" 75
  line_count_is "$T/ran" 1
}

@test "a waiter gets in when it is over, and not before" {
  local before
  before=$(now_ms)
  hold holder -k "$K" --min-hold 4s
  queue_up waiter "$K" 1 -- sh -c 'date +%s%3N'
  let_go holder
  finish waiter
  assert_success
  assert_less $((before + 3999)) "$output"
  assert_less "$output" $((before + 11000)) # a heartbeat takes 12 s
}

@test "a job that takes longer releases at once" {
  hold holder -k "$K" --min-hold 100ms
  sleep 0.3
  let_go holder
  assert_success
  free "$K"
}

@test "a command that cannot be run was no job: released at once" {
  attempt -k "$K" --min-hold 60s -- "$T/no-such"
  assert_equal "$status" 127
  free "$K"
}

@test "a job that failed counts as one that ran" {
  attempt -k "$K" --min-hold 60s -- sh -c 'exit 3'
  assert_equal "$status" 3
  held "$K"
}

@test "a cancelled run frees the key at once" {
  own_server
  hold holder -k "$K" --min-hold 60s
  wait_until listening 1
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  free "$K"
}

@test "a lock that another run took meanwhile stays with it" {
  hold holder -k "$K" --min-hold 60s --on-lost warn
  redis set "$K" thief px 30000
  let_go holder
  assert_equal "$(redis get "$K")" thief
  assert_less "$(redis pttl "$K")" 30001
}

@test "one reader's min-hold keeps writers out, and not readers" {
  attempt -k "$K" -s --min-hold 60s -- true
  assert_success
  attempt -k "$K" -s -- true
  assert_success
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
}

@test "force-release ends it, and waits for no word of a job that has ended" {
  attempt -k "$K" --min-hold 60s -- true
  attempt force-release --yes --wait 1m "$K"
  assert_success
  assert_output --partial "released '$K', which was kept by --min-hold after the job of"
  refute_output --partial 'may still be running'
  free "$K"
}

@test "of several it is told apart from those whose job runs, which are cancelled" {
  own_server
  attempt -k "$K" -s --min-hold 60s -- true
  hold holder -k "$K" -s
  wait_until listening 1
  attempt inspect "$K"
  assert_equal "$(grep -c 'its job has ended; --min-hold keeps the lock' <<<"$output")" 1
  assert_equal "$(json '[each["job_ended"] for each in d["holders"]]' inspect "$K" --json)" '[true, false]'
  attempt cancel "$K" --wait 2s
  assert_equal "$status" 75
  finish holder
  assert_equal "$status" 76
}

@test "it also comes from the environment, and takes durations only" {
  RLOCK_MIN_HOLD=60s attempt -k "$K" -- true
  assert_success
  held "$K"
  attempt -k other --min-hold soon -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "--min-hold: 'soon' is not valid"
  [[ ! -e $T/ran ]]
}
