#!/usr/bin/env bats
# etcd://: a queue of keys in the order of their creation, and an etcd lease as lease.
load ../../lib/rlock
load ../../lib/etcd
load ../../lib/line

setup_file() {
  OWN_SERVERS=()
  start_etcd
  export FILE_SERVERS="${OWN_SERVERS[*]}" FILE_URL=$RLOCK_SERVER ETCD_PORT
}

teardown_file() {
  stop_redis "$FILE_SERVERS"
  rm -rf "$FILE_SERVERS"
}

use_server() { export RLOCK_SERVER=$FILE_URL; }

# start_etcd_proxy: before the one server; PROXIED is the way to it.
start_etcd_proxy() {
  local port
  port=$(free_port)
  start_proxy_between "tcp:$port" "tcp:$ETCD_PORT"
  PROXIED=etcd://127.0.0.1:$port
}

# keys PREFIX: how many keys begin with it.
keys() { etcd_cli "$ETCD_PORT" get --prefix "$1" --keys-only -w json | jq '.kvs | length'; }

@test "the fence is a revision of the cluster, and grows" {
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  local first=$output
  # shellcheck disable=SC2016
  attempt -k "$K:other" -- sh -c 'echo $RLOCK_FENCE'
  assert_less "$first" "$output"
}

@test "check compares the whole token, not a part of it" {
  local token part
  hold holder -k "$K" --label job
  token=$(json 'd["holder"]["token"]' inspect --json "$K")
  for part in x - '#' a 0 "${token#*#}" "other@host:1/job#${token#*#}" "${token%?}"; do
    attempt check -k "$K" --token "$part"
    assert_equal "$status" 76
  done
  attempt check -k "$K" --token "$token"
  assert_success
  let_go holder
}

@test "readers wait for the writer before them, not for each other" {
  readers_and_writer_in_turn
}

@test "etcdctl lock stands in the same queue" {
  local held=$T/held
  mkfifo "$held"
  ETCDCTL_API=3 launch other etcdctl --endpoints "127.0.0.1:$ETCD_PORT" lock "rlock/queue/$K" -- cat "$held"
  wait_until held "$K"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  start waiter -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  echo >"$held"
  finish waiter
  assert_output 'my turn'
  finish other
  hold holder -k "$K"
  ETCDCTL_API=3 launch other etcdctl --endpoints "127.0.0.1:$ETCD_PORT" lock "rlock/queue/$K" -- echo 'its turn'
  wait_until in_line 1
  let_go holder
  assert_success
  finish other
  assert_output 'its turn'
}

@test "--min-hold is a lease of its own, which other clients of the queue await" {
  local from took
  from=$(now_ms)
  attempt -k "$K" --ttl 60s --min-hold 5s -- true
  assert_success
  assert_equal "$(keys "rlock/queue/$K/")" 1
  ETCDCTL_API=3 launch other etcdctl --endpoints "127.0.0.1:$ETCD_PORT" lock "rlock/queue/$K" -- echo 'its turn'
  finish other
  took=$(($(now_ms) - from))
  assert_output 'its turn'
  assert_less 4900 "$took"
  assert_less "$took" 9000
}

@test "--min-hold, and a job that was as long: free at once" {
  attempt -k "$K" --min-hold 1s -- sleep 1.2
  assert_success
  assert_equal "$(keys "rlock/queue/$K/")" 0
}

@test "acquire after a wait holds for its whole --ttl" {
  hold holder -k "$K"
  start step acquire -k "$K" --ttl 30s -w 60s
  wait_until in_line 1
  sleep 6 # the session of the step began so much earlier
  let_go holder
  finish step
  assert_success
  attempt check -k "$K" --token "$output" --at-least 26s
  assert_success
}

@test "of many holders the oldest one's end is heard as well" {
  local number oldest
  for number in {1..18}; do
    attempt acquire -k "$K" --permits 18 --ttl 60s
    assert_success
    oldest=${oldest:-$output}
  done
  start waiter -k "$K" -q --permits 18 -w 60s -- echo 'my turn'
  wait_until in_line 1
  sleep 1.5 # a waiter may look once more in its first second
  attempt release -k "$K" --token "$oldest"
  assert_success
  PATIENCE=3 wait_until says "$T/waiter.out" 'my turn'
  finish waiter
  assert_success
}

@test "a permit that --min-hold keeps is not given to another" {
  attempt -k "$K" --permits 2 --min-hold 60s -- sh -c 'echo $RLOCK_PERMIT'
  assert_output 1
  attempt -k "$K" --permits 2 -- sh -c 'echo $RLOCK_PERMIT'
  assert_output 2
  attempt -k "$K" --permits 2 --min-hold 60s -- true
  attempt -k "$K" --permits 2 -- true
  assert_equal "$status" 75
  attempt force-release "$K" --yes
  assert_success
  attempt -k "$K" --permits 2 -- sh -c 'echo $RLOCK_PERMIT'
  assert_output 1
}

@test "refresh gives a lock of acquire another lease, longer or shorter" {
  local token
  attempt acquire -k "$K" --ttl 3s
  assert_success
  token=$output
  attempt check -k "$K" --token "$token" --at-least 4s
  assert_equal "$status" 76
  attempt refresh -k "$K" --token "$token" --ttl 60s
  assert_success
  attempt check -k "$K" --token "$token" --at-least 50s
  assert_success
  sleep 4.5 # the first lease is over
  held "$K"
  attempt refresh -k "$K" --token "$token" --ttl 3s
  assert_success
  start waiter -q -k "$K" -w 60s -- echo 'my turn'
  finish waiter
  assert_output 'my turn'
  attempt refresh -k "$K" --token "$token" --ttl 60s
  assert_equal "$status" 76
  attempt check -k "$K" --token "$token"
  assert_equal "$status" 76
  attempt release -k "$K" --token "$token"
  assert_equal "$status" 76
  assert_equal "$(json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json "$K")" '["exited", "lost"]'
}

@test "a lock of acquire is released by its token alone, and its run is remembered" {
  local token
  attempt acquire -k "$K" --ttl 60s
  token=$output
  start waiter -q -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  attempt release -k "$K" --token "${token%?}"
  assert_equal "$status" 76
  attempt release -k "$K" --token "$token"
  assert_success
  finish waiter
  assert_output 'my turn'
  assert_equal "$(json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json "$K")" '["exited", "released"]'
  assert_equal "$(keys "rlock/queue/$K/")" 0
}

@test "refresh of a lock whose run refreshes it is refused, with the reason" {
  local token
  hold holder -k "$K"
  token=$(json 'd["holder"]["token"]' inspect --json "$K")
  attempt refresh -k "$K" --token "$token" --ttl 60s
  assert_equal "$status" 69
  assert_stderr_line 'a running process holds it with this token, and refreshes it itself'
  attempt release -k "$K" --token "$token"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "an acquire that could not say its token gives the lock back" {
  status=0
  "$RLOCK_BIN" acquire -k "$K" --ttl 60s >/dev/full 2>"$T/err" || status=$?
  assert_equal "$status" 71
  assert_equal "$(keys "rlock/queue/$K/")" 0
}

@test "the lock of a killed process passes on within a second after its lease" {
  local from took
  hold holder -k "$K" --ttl 3s
  start waiter -q -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  from=$(now_ms)
  signal KILL holder
  finish waiter
  took=$(($(now_ms) - from))
  assert_output 'my turn'
  assert_less 900 "$took"
  assert_less "$took" 4500
}

@test "nothing is left of a lock that nobody holds or waits for, but its memory" {
  start_etcd
  attempt -k "$K" --history 0 -- true
  assert_equal "$(keys "rlock/queue/$K/") $(keys "rlock/runs/$K/")" '0 0'
  attempt -k "$K" -- true
  assert_equal "$(keys "rlock/queue/$K/") $(keys "rlock/runs/$K/")" '0 1'
  assert_equal "$(etcd_cli "$ETCD_PORT" lease list | head -1)" 'found 0 leases'
}

@test "a client that only looks writes nothing" {
  start_etcd
  attempt inspect "$K"
  attempt list
  attempt check -k "$K" --token x
  assert_equal "$(etcd_cli "$ETCD_PORT" get x -w json | jq .header.revision)" 1
  assert_equal "$(etcd_cli "$ETCD_PORT" lease list | head -1)" 'found 0 leases'
}

@test "a server that is down, or silent, is 69 in time" {
  start_etcd
  pause_redis "${OWN_SERVERS[-1]}"
  attempt -k "$K" --ttl 1s -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'cannot reach etcd://'
  resume_redis "${OWN_SERVERS[-1]}"
  kill_redis "${OWN_SERVERS[-1]}"
  attempt -k "$K" --ttl 1s -- touch "$T/ran"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
}

@test "a server that comes back finds the lease alive" {
  start_etcd
  hold holder -k "$K" --ttl 20s --grace 1s
  start waiter -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  kill_redis "${OWN_SERVERS[-1]}"
  launch_etcd "${OWN_SERVERS[-1]}"
  wait_until etcd_answers "$ETCD_PORT"
  wait_until held "$K"
  let_go holder
  assert_success
  finish waiter
  assert_output 'my turn'
}

@test "a holder that was paused beyond its lease stops its job when it comes to" {
  hold holder -k "$K" --ttl 2s
  signal STOP holder
  attempt -q -k "$K" -w 20s -- echo 'my turn'
  assert_output 'my turn'
  signal CONT holder
  finish holder
  assert_equal "$status" 76
}

@test "a key that was created while the connection broke is found again" {
  hold one -k "$K" --shared
  start_etcd_proxy
  proxy drop-reply request_put
  hold two -S "$PROXIED" -k "$K" --shared
  says "$T/proxy.log" 'dropped reply'
  assert_equal "$(json 'len(d["holders"]) + len(d["waiters"])' inspect --json "$K")" 2
  let_go two
  assert_success
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 1
  let_go one
  stop_proxy
}

@test "a claim whose answer is lost is asked for at another connection, and nothing of it stays" {
  hold one -k "$K" --shared
  start_etcd_proxy
  proxy swallow-reply request_put
  attempt -S "$PROXIED" -k "$K" --shared -w 10s --ttl 30s -- touch "$T/ran"
  assert_success
  says "$T/proxy.log" 'swallowed reply'
  # Its key would last as long as its lease.
  wait_until there_are 1
  let_go one
  assert_success
  stop_proxy
  [[ -e $T/ran ]]
}

there_are() {
  (($(json 'len(d["holders"]) + len(d["waiters"])' inspect --json "$K") == $1))
}

@test "a hold and a wait outlive a connection that is reset" {
  start_etcd_proxy
  hold holder -S "$PROXIED" -k "$K" --ttl 5s --grace 100ms
  start waiter -S "$PROXIED" -k "$K" --ttl 5s -w 60s -- echo 'my turn'
  wait_until in_line 1
  proxy reset
  attempt -q -k "$K" -w 6s -- touch "$T/ran"
  assert_equal "$status" 75
  in_line 1
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
  stop_proxy
}

@test "a waiter whose revision is compacted while it has no connection looks again" {
  start_etcd_proxy
  hold holder -k "$K"
  start waiter -S "$PROXIED" -k "$K" --ttl 30s -w 60s -- echo 'my turn'
  wait_until in_line 1
  proxy refuse
  let_go holder
  etcd_cli "$ETCD_PORT" put other x
  etcd_cli "$ETCD_PORT" compaction "$(etcd_cli "$ETCD_PORT" get x -w json | jq .header.revision)"
  proxy pass
  finish waiter
  assert_output 'my turn'
  stop_proxy
}

@test "locks below another prefix are other locks" {
  hold holder -S "$FILE_URL/one/two" -k "$K"
  attempt -S "$FILE_URL/one/three" -k "$K" -- echo ran
  assert_output ran
  attempt -S "$FILE_URL/one/two" -k "$K" -- true
  assert_equal "$status" 75
  let_go holder
}

@test "user and password: a role for the prefix is enough, and an expired token is replaced" {
  local url
  start_etcd --auth-token-ttl 1
  etcd_cli "$ETCD_PORT" user add root:secret
  etcd_cli "$ETCD_PORT" user grant-role root root
  etcd_cli "$ETCD_PORT" user add app:geheim
  etcd_cli "$ETCD_PORT" role add locks
  etcd_cli "$ETCD_PORT" role grant-permission locks --prefix=true readwrite rlock/
  etcd_cli "$ETCD_PORT" user grant-role app locks
  etcd_cli "$ETCD_PORT" auth enable
  url=etcd://app:geheim@127.0.0.1:$ETCD_PORT
  hold holder -v -S "$url" -k "$K" --ttl 9s
  start waiter -S "$url" -k "$K" -w 60s --ttl 9s -- echo 'my turn'
  # For several tokens, and longer than the lease.
  attempt -q -S "$url" -k "$K" -w 11s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  assert_success
  [[ $stderr != *geheim* ]]
  finish waiter
  assert_output 'my turn'
  attempt doctor -S "$url"
  assert_success
  assert_output --partial 'user app logged in'
  attempt -S "etcd://app:wrong@127.0.0.1:$ETCD_PORT" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  attempt -S "etcd://127.0.0.1:$ETCD_PORT" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  attempt -S "$url/other" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  install -m 600 /dev/null "$T/password"
  echo geheim >"$T/password"
  attempt -S "etcd://app@127.0.0.1:$ETCD_PORT" --password-file "$T/password" -k "$K" -- echo ran
  assert_output ran
  [[ ! -e $T/ran ]]
}

@test "doctor says how many members may fail, and who may change locks" {
  attempt doctor
  assert_success
  assert_output --partial '1 member with a vote, of which 0 may fail'
  assert_output --partial 'every client that reaches the members may change locks'
  assert_output --partial 'fit to hold locks'
  refute_output --partial 'revoke leases' # nothing can replace a leader that is alone
  attempt doctor -S "etcd://app:geheim@127.0.0.1:$ETCD_PORT"
  assert_output --partial 'authentication is not enabled, so user app means nothing'
  assert_output --partial 'fit to hold locks, 1 warning'
}

@test "a cluster without space: holders and waiters go on, and new claims fail" {
  start_etcd --quota-backend-bytes $((512 * 1024))
  hold holder -k "$K" --ttl 3s
  hold other -k "$K:other" --ttl 3s
  start waiter -k "$K" -w 60s --ttl 3s -- echo 'my turn'
  wait_until in_line 1
  head -c 300000 /dev/zero | tr '\0' x >"$T/large"
  local number
  for number in {1..9}; do
    ETCDCTL_API=3 etcdctl --endpoints "127.0.0.1:$ETCD_PORT" put "large$number" <"$T/large" || break
  done
  etcd_cli "$ETCD_PORT" alarm list | grep NOSPACE
  attempt -k "$K:new" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_stderr_line 'database space exceeded'
  attempt doctor
  assert_output --partial 'NOSPACE'
  attempt inspect "$K"
  assert_success
  sleep 4
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  attempt force-release --yes "$K:other"
  assert_success
  finish other
  assert_equal "$status" 76
  [[ ! -e $T/ran ]]
}
