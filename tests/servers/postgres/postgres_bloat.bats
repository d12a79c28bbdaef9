#!/usr/bin/env bats
# The leftovers of many runs in the tables.
load ../../lib/rlock
load ../../lib/postgres

[[ -z ${BATS_TEST_TIMEOUT:-} ]] || BATS_TEST_TIMEOUT=1200 # two minutes, more on a busy machine

setup_file() { :; }
teardown_file() { :; }
use_server() { :; }

@test "10,000 runs of ten keys and 1,000 of keys that are used once leave small tables" {
  local lane before expired='select count(*) from rlock.lock where ends < now()'
  start_postgres
  export T K RUNS=5000
  ! sanitized || RUNS=500 # for them the tables are the same
  for lane in 0 1; do
    launch "lane$lane" bash -c 'for ((i = 0; i < RUNS; i++)); do "$0" -k "$K:$1:$((i % 5))" -- true || exit; done
      for ((i = 0; i < 500; i++)); do "$0" -k "$K:$1:once:$i" --history 0 -- true || exit; done' "$RLOCK_BIN" "$lane"
  done
  for lane in 0 1; do
    PATIENCE=1200 finish "lane$lane"
    assert_success
  done
  # Ten records of 50 runs, and 1,000 of a fence, in pages that are half empty by intent.
  assert_less "$(sql "select pg_total_relation_size('rlock.lock')")" 3000000
  # One new key of sixteen sweeps a hundred expired rows, by chance.
  sql "update rlock.lock set ends = now() - interval '2 days'"
  before=$(sql "$expired")
  for ((i = 0; i < 400; i++)); do
    "$RLOCK_BIN" -k "$K:new:$i" -- true
  done
  assert_less "$(sql "$expired")" "$((before - 500))"
}
