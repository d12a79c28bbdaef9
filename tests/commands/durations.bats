#!/usr/bin/env bats
# A duration is what it says: read back as the lease that the server keeps.
load ../lib/rlock

# lease_is TTL MILLISECONDS
lease_is() {
  local ttl=$1 wanted=$2 kept
  kept=$(rlock -k "$K" -t "$ttl" -- redis-cli -s "$SERVER/redis.sock" pttl "$K")
  ((kept <= wanted && kept > wanted - 5000 && kept > wanted / 20)) || fail "$ttl: kept $kept ms, not $wanted"
}

@test "a bare number is seconds" {
  lease_is 90 90000
  lease_is 1.5 1500
}

@test "ms, s, m, h and d" {
  lease_is 7000ms 7000
  lease_is 7s 7000
  lease_is 7m 420000
  lease_is 7h 25200000
  lease_is 7d 604800000
}

@test "decimals and compounds" {
  lease_is 0.5h 1800000
  lease_is 1h30m 5400000
  lease_is 1m30s 90000
  lease_is 1h0.5m 3630000
  lease_is 1d1h1m1s500ms 90061500
}

@test "the default is 30 seconds" {
  run rlock -k "$K" -- redis-cli -s "$SERVER/redis.sock" pttl "$K"
  assert_less 24000 "$output"
  assert_less "$output" 30001
}

@test "100ms is the shortest lease" {
  # Loading the command may take longer on a busy machine, which is 76; a lease that is refused is so each time.
  wait_until rlock -k "$K" -t 100ms -- true
  wait_until rlock -k "$K" -t .1 -- true
}

@test "--wait 0 and --nonblock are one attempt" {
  redis set "$K" somebody px 60000
  attempt -k "$K" --wait 0 -- true
  assert_equal "$status" 75
  attempt -k "$K" -n -- true
  assert_equal "$status" 75
  attempt -k "$K" --nonblock -- true
  assert_equal "$status" 75
}
