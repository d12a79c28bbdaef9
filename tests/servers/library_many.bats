#!/usr/bin/env bats
# Many locks of one process: one thread refreshes them, and few connections carry them.
load ../lib/rlock
load ../lib/cluster

# many NUMBER [SERVER]: returns once it holds them
many() {
  local number=$1 server=${2:-$RLOCK_SERVER}
  rm -f "$T/many.go"
  launch many "${RLOCK_BIN%/*}/library-many" "$server" "$K" "$number" "$T/many.go"
  wait_until says "$T/many.out" started
}

connections() { redis client list | grep -vc 'cmd=client'; }

@test "a thousand locks have one thread and three connections, outlive their ttl, and are told one by one" {
  own_server
  many 1000
  assert_equal "$(<"$T/many.out")" 'started 2'
  sleep 5 # longer than their ttl; after a second they listen
  assert_less "$(connections)" 4
  attempt -k "$K.77" -n -q -- touch "$T/ran"
  assert_equal "$status" 75
  attempt cancel "$K.500" --wait 10s
  assert_success
  attempt force-release --yes "$K.501"
  assert_success
  wait_until says "$T/many.out" "lost $K.501"
  assert_equal "$(grep -c ^lost "$T/many.out")" 2
  touch "$T/many.go"
  finish many
  assert_success
  assert_line 'released 998'
}

@test "in a Cluster, where each lock has connections of its own, they are told as well" {
  start_cluster
  many 20
  sleep 2
  attempt cancel "$K.7" --wait 10s
  assert_success
  wait_until says "$T/many.out" "lost $K.7"
  touch "$T/many.go"
  finish many
  assert_line 'released 19'
}

@test "all of them are cancelled, and told" {
  own_server
  many 200
  sleep 2
  seq 200 | xargs -P 8 -I{} "$RLOCK_BIN" cancel "$K.{}" --wait 20s > "$T/cancelled" 2>&1 || fail "$(<"$T/cancelled")"
  wait_until said_of_all 200
  touch "$T/many.go"
  finish many
  assert_line 'released 0'
}

said_of_all() { (($(grep -c ^lost "$T/many.out") == $1)); }
