#!/usr/bin/env bats
# Many locks of one process: one thread refreshes them, and few connections carry them.
load ../lib/rlock
load ../lib/cluster

# many NUMBER [TTL [TTL-OF-NEXT]]: returns once it holds them
many() {
  local number=$1
  shift
  rm -f "$T/many.go"
  launch many "${RLOCK_BIN%/*}/library-many" "$RLOCK_SERVER" "$K" "$number" "$T/many.go" "$@"
  wait_until says "$T/many.out" started
}

connections() { redis client list | grep -c 'cmd=[^c]'; }

# A sanitizer takes several times as long for each of them.
thousand() { ! sanitized && echo 1000 || echo 100; }

@test "a thousand locks have one thread and few connections, outlive their ttl, and are told one by one" {
  own_server
  many "$(thousand)" 6000 # each is refreshed every 2 s, which a busy machine must keep up with
  sanitized || assert_equal "$(<"$T/many.out")" 'started 2' # one may have a thread of its own
  sleep 8 # longer than their ttl; after a second they listen
  assert_less "$(connections)" 11 # usually three: a refresh that is late may take another one
  attempt -k "$K.77" -n -q -- touch "$T/ran"
  assert_equal "$status" 75
  attempt cancel "$K.50" --wait 10s
  assert_success
  attempt force-release --yes "$K.51"
  assert_success
  wait_until says "$T/many.out" "lost $K.51"
  assert_equal "$(grep -c ^lost "$T/many.out")" 2
  touch "$T/many.go"
  finish many
  assert_success
  assert_line "released $(($(thousand) - 2))"
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

@test "each of three hundred is told before its lease ends that the server is silent" {
  own_server
  start_proxy
  local number=300
  ! sanitized || number=60
  many "$number"
  sleep 1
  proxy stall
  wait_until said_of_all "$number"
  refute_said late
  proxy pass
  touch "$T/many.go"
  finish many
  assert_success
  stop_proxy
}

@test "a server that is far away keeps many locks" {
  own_server
  start_proxy
  many 40 6000
  proxy delay 20
  sleep 8
  proxy pass
  refute_said lost
  touch "$T/many.go"
  finish many
  assert_line 'released 40'
  stop_proxy
}

refute_said() { ! grep "^$1" "$T/many.out" || fail "$(sort "$T/many.out" | uniq -c | head)"; }

@test "one is told of a cancel soon after a refresh of its server failed once" {
  own_server
  local direct=$RLOCK_SERVER
  start_proxy
  many 1 9000
  sleep 1.5 # it listens
  proxy drop-reply EVALSHA
  wait_until says "$T/proxy.log" dropped
  sleep 1
  RLOCK_SERVER=$direct attempt cancel "$K.1" --wait 2s
  assert_success
  touch "$T/many.go"
  finish many
  stop_proxy
}

@test "a connection for notices that died without a word makes no new lock deaf" {
  own_server
  local direct=$RLOCK_SERVER
  start_proxy
  many 1 60000
  sleep 1.5
  proxy forget
  # Its process shares the connection for notices with the second lock, which is acquired now.
  touch "$T/many.go.next"
  wait_until says "$T/many.out" next
  sleep 2.5
  RLOCK_SERVER=$direct attempt cancel "$K.next" --wait 5s
  assert_success
  touch "$T/many.go"
  finish many
  stop_proxy
}

@test "a short lock that comes while the connection of a long one is dead is kept" {
  own_server
  start_proxy
  many 1 30000 2000
  # A refresh is due each ten seconds, and would wait for five.
  sleep 8
  proxy forget
  sleep 2.5
  touch "$T/many.go.next"
  wait_until says "$T/many.out" next
  sleep 6
  refute_said lost
  touch "$T/many.go"
  finish many
  assert_line 'released 2'
  stop_proxy
}

@test "a server that takes longer than a first try keeps a lock" {
  own_server
  start_proxy
  many 1 15000
  proxy delay 1300
  sleep 17 # longer than its ttl
  refute_said lost
  proxy pass
  touch "$T/many.go"
  finish many
  assert_line 'released 1'
  stop_proxy
}

@test "all of them are cancelled, and told" {
  own_server
  local number=200
  ! sanitized || number=40
  many "$number" 6000
  sleep 2
  seq "$number" | xargs -P 8 -I{} "$RLOCK_BIN" cancel "$K.{}" --wait 20s > "$T/cancelled" 2>&1 || fail "$(<"$T/cancelled")"
  wait_until said_of_all "$number"
  touch "$T/many.go"
  finish many
  assert_line 'released 0'
}

said_of_all() { (($(grep -c ^lost "$T/many.out") == $1)); }
