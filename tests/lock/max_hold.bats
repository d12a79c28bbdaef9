#!/usr/bin/env bats
# --max-hold: the job is gone that long after the grant.
load ../lib/rlock

@test "the job is stopped in time for that, 76, and the lock is free" {
  local before
  before=$(now_ms)
  attempt -k "$K" --ttl 60s --max-hold 3s --status-file "$T/status" -- sh -c 'trap "exit 3" TERM; while :; do sleep 0.05; done'
  assert_equal "$status" 76
  assert_stderr_line "its time under '$K' is over: --max-hold 3s; stopping the job"
  assert_less 2300 $(($(now_ms) - before)) # the default grace is a sixth
  free "$K"
  assert_equal "$("$PYTHON" -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["outcome"], d["job"]["exit_code"])' "$T/status")" 'stopped 3'
}

@test "a job that ignores TERM is dead by then, with --on-lost warn as well" {
  local granted
  start holder -k "$K" --ttl 60s --max-hold 2s --grace 500ms --on-lost warn -- \
    bash -c 'trap "" TERM; while :; do echo "${EPOCHREALTIME/[.,]/}"; sleep 0.01; done'
  wait_held "$K"
  granted=$(fence "$K") # the server's time of the grant, of this host's clock
  finish holder
  assert_equal "$status" 76
  assert_less "$(tail -n 1 "$T/holder.out")" $((granted + 2100000)) # who kills may have no turn for a moment
}

@test "an rlock that stands still does not give the job more time" {
  local granted
  start holder -k "$K" --ttl 60s --max-hold 2s -- \
    bash -c 'while :; do echo "${EPOCHREALTIME/[.,]/}"; sleep 0.01; done'
  wait_held "$K"
  granted=$(fence "$K")
  kill -STOP "${PIDS[holder]}"
  wait_until gone "$(job_of holder)"
  assert_less "$(tail -n 1 "$T/holder.out")" $((granted + 2100000)) # who kills may have no turn for a moment
  kill -CONT "${PIDS[holder]}"
  finish holder
  assert_equal "$status" 76
}

@test "a job that is quicker is not concerned, and waiting does not count" {
  hold holder -k "$K"
  start waiter -k "$K" -w 60s --max-hold 1s -- sh -c 'exit 4'
  wait_queued "$K" 1
  sleep 1.2
  let_go holder
  finish waiter
  assert_equal "$status" 4
}

@test "--min-hold keeps the lock also after a job that was stopped for it" {
  attempt -k "$K" --min-hold 1500ms --max-hold 1500ms -- sleep 30
  assert_equal "$status" 76
  wait_free "$K"
}

@test "a time that makes no sense is refused" {
  attempt -k "$K" --max-hold 10ms -- touch "$T/ran"
  assert_equal "$status" 64
  attempt -k "$K" --max-hold 5s --min-hold 6s -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line '--max-hold' '--min-hold'
  attempt -k "$K" --max-hold 5s --grace 3s -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'at most half of --max-hold, 2500ms'
  [[ ! -e $T/ran ]]
}
