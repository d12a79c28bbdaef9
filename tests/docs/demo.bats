#!/usr/bin/env bats
# The case rlock was made for: two batch servers, one task table, cron at the same moment.
load ../lib/rlock

@test "two batch servers: rows are enqueued twice without the lock, and never with it" {
  own_server
  mkdir "$T/demo"
  run "$REPO/scripts/demo/two-servers" "$SERVER/redis.sock" "$T/demo"
  assert_success
  assert_output --partial 'two-servers: ok: 60 rows, enqueued once 60, twice 0, never 0;'
  free batch:task:list
  queued batch:task:list 0
}

@test "five hosts whose clocks are apart: each slot runs once, and is not missed where spares wait" {
  local minute=3
  ! sanitized || minute=12
  run "$REPO/scripts/demo/fleet" --minutes 6 --minute "$minute" --dying 10 --seed 2
  assert_success
  assert_line --regexp '^plain lock +[0-9]+ +[0-9]+ +[0-9]+$'
  assert_line --regexp '^--slot, and spares that wait +6 +0 +0$'
  assert_line --partial 'fleet: ok: with --slot twice 0, '
}

@test "a batch service with the library: each task is done once, though one service is stopped beyond its lease" {
  own_server
  mkdir "$T/batch"
  cmake --build "${RLOCK_BIN%/*}" --target batch-service >"$T/log" 2>&1 || fail "$(<"$T/log")"
  run "$REPO/scripts/demo/batch-service" "$SERVER/redis.sock" "$T/batch" "${RLOCK_BIN%/*}/batch-service"
  assert_success
  assert_line --regexp '^batch-service: ok: 40 tasks, done twice 0, never 0; the stopped one was told [1-9]'
}
