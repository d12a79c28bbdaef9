#!/usr/bin/env bats
# rlock check: is the lock still this job's, and for long enough?
load ../lib/rlock

@test "inside a job: yes, and silently" {
  attempt -k "$K" -- "$RLOCK_BIN" check
  assert_success
  assert_silent
  assert_output ''
}

@test "for as long as the lease lasts, and no longer" {
  attempt -k "$K" --ttl 60s -- "$RLOCK_BIN" check --at-least 30s
  assert_success
  attempt -k "$K" --ttl 60s -- "$RLOCK_BIN" check --at-least 61s
  assert_equal "$status" 76
  assert_one_stderr_line "the lease of '$K' ends in"
}

@test "check fails once the lock is gone or another's" {
  attempt -k "$K" -- sh -c 'redis-cli -s "$SERVER/redis.sock" del "$RLOCK_KEY" >/dev/null; "$RLOCK_BIN" check'
  assert_equal "$status" 76
  assert_stderr_line "this token does not, or no longer, hold '$K': it is free"
  attempt -k "$K" -- sh -c 'redis-cli -s "$SERVER/redis.sock" set "$RLOCK_KEY" thief >/dev/null; "$RLOCK_BIN" check'
  assert_equal "$status" 76
  assert_stderr_line 'held by a foreign client (thief), without expiry'
}

@test "all keys of a job with several" {
  attempt -k "$K:a" -k "$K:b" -- "$RLOCK_BIN" check
  assert_success
  attempt -k "$K:a" -k "$K:b" -- sh -c 'redis-cli -s "$SERVER/redis.sock" del "$1" >/dev/null; "$RLOCK_BIN" check' - "$K:b"
  assert_equal "$status" 76
  assert_stderr_line "this token does not, or no longer, hold '$K:b'"
}

@test "a reader's own lease counts, not the others'" {
  hold other -k "$K" -s --ttl 60s
  attempt -k "$K" -s --ttl 2s -- "$RLOCK_BIN" check --at-least 30s
  assert_equal "$status" 76
  attempt -k "$K" -s -- "$RLOCK_BIN" check --at-least 10s
  assert_success
  let_go other
}

@test "it changes nothing" {
  local before
  hold holder -k "$K" --ttl 60s
  before=$(redis pexpiretime "$K")
  attempt check -k "$K" --token "$(redis get "$K")"
  assert_success
  attempt check -k "$K" --token other
  assert_equal "$status" 76
  assert_equal "$(redis pexpiretime "$K")" "$before"
  let_go holder
}

@test "a job whose server came from a config file with a password can ask" {
  own_server --requirepass sesame
  echo "server = unix://:sesame@$SERVER/redis.sock" >"$T/conf"
  unset RLOCK_SERVER
  RLOCK_CONFIG=$T/conf attempt -k "$K" -- sh -c 'echo "$RLOCK_SERVER"; "$RLOCK_BIN" check'
  assert_success
  assert_output "unix://$SERVER/redis.sock"
}

@test "a server that does not answer is neither yes nor no" {
  own_server
  hold holder -k "$K" --ttl 60s --grace 1s
  local token
  token=$(redis get "$K")
  pause_redis "$SERVER"
  attempt check -k "$K" --token "$token"
  assert_equal "$status" 69
  resume_redis "$SERVER"
  let_go holder
}
