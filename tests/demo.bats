#!/usr/bin/env bats
# The case rlock was made for: two batch servers, one task table, cron at the same moment.
load lib/rlock

@test "two batch servers: rows are enqueued twice without the lock, and never with it" {
  own_server
  mkdir "$T/demo"
  run "$REPO/scripts/demo/two-servers" "$SERVER/redis.sock" "$T/demo"
  assert_success
  assert_output --partial 'two-servers: ok: 60 rows, enqueued once 60, twice 0, never 0;'
  free batch:task:list
  queued batch:task:list 0
}
