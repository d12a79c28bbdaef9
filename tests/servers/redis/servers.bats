#!/usr/bin/env bats
# Servers that are away, silent, loading, full or read-only: the job does not run, the answer comes in time.
load ../../lib/rlock
load ../../lib/namespaces

@test "connection refused exits 69 at once" {
  local before
  own_server
  kill_redis "$SERVER"
  before=$(now_ms)
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line "cannot reach"
  attempt -S redis://127.0.0.1:1 -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line redis://127.0.0.1:1
  assert_less $(($(now_ms) - before)) 15000
  [[ ! -e $T/ran ]]
}

@test "a host that does not exist exits 69" {
  attempt -S redis://nosuch.invalid -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line nosuch.invalid
  [[ ! -e $T/ran ]]
}

@test "a silent server exits 69 within bounds, also for inspect" {
  local before
  own_server
  pause_redis "$SERVER"
  before=$(now_ms)
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line "cannot reach"
  [[ ! -e $T/ran ]]
  attempt inspect "$K"
  assert_equal "$status" 69
  assert_less $(($(now_ms) - before)) 25000
}

@test "a question that a silent server answers later leaves no lock behind" {
  own_server
  pause_redis "$SERVER"
  attempt -k "$K" -t 60s -- touch "$T/ran"
  assert_equal "$status" 69
  resume_redis "$SERVER"
  wait_free "$K"
  [[ ! -e $T/ran ]]
}

@test "a waiter is not kept past --wait by a silent server" {
  local before
  own_server
  redis set "$K" other px 600000
  start waiter -k "$K" -w 3s -- touch "$T/ran"
  wait_queued "$K" 1
  pause_redis "$SERVER"
  before=$(now_ms)
  finish waiter
  [[ $status -eq 75 || $status -eq 69 ]] || fail "exit $status"
  assert_less $(($(now_ms) - before)) 15000
  [[ ! -e $T/ran ]]
}

@test "something that is not Redis exits 69, and the job does not run" {
  launch stranger "$PYTHON" -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind(os.environ["T"] + "/s"); s.listen(); print("up", flush=True)
while True:
    c, _ = s.accept(); c.recv(100); c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"); c.close()'
  wait_until says "$T/stranger.out" up
  attempt -S "unix://$T/s" -k "$K" -- touch "$T/ran"
  kill "${PIDS[stranger]}"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
}

@test "a read-only replica holds no locks: 69, with its word" {
  own_server --replicaof '127.0.0.1 1'
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line READONLY
  [[ ! -e $T/ran ]]
}

@test "a waiter outlasts a replica that becomes the master" {
  own_server --replicaof '127.0.0.1 1'
  start waiter -k "$K" -w 60s -- echo ran
  wait_until in_state "${PIDS[waiter]}" S
  redis replicaof no one
  finish waiter
  assert_success
  assert_output ran
}

@test "a server out of memory grants, or says why; it never does half of it" {
  own_server --maxmemory 1 --maxmemory-policy noeviction
  attempt -k "$K" -- touch "$T/ran"
  if [[ -e $T/ran ]]; then
    assert_equal "$status" 0
  else
    assert_equal "$status" 69
    assert_one_stderr_line OOM
  fi
  free "$K"
  queued "$K" 0
}

@test "a holder releases, and refreshes, on a server that ran out of memory" {
  own_server
  hold first -k "$K" -t 4s --grace 100ms
  redis config set maxmemory 1
  wait_refreshed "$K"
  let_go first
  assert_success
  free "$K"
  redis config set maxmemory 0
}

@test "readers, and those who have permits, refresh on a server that ran out of memory" {
  local how
  own_server
  for how in --shared '--permits 2'; do
    redis config set maxmemory 0
    # shellcheck disable=SC2086
    hold "first$how" -k "$K:$how" $how -t 4s --grace 100ms
    redis config set maxmemory 1
    wait_refreshed "$K:$how"
    let_go "first$how"
    assert_success
    free "$K:$how"
  done
}

@test "a holder on a server that ran out of memory can be cancelled" {
  own_server
  hold holder -k "$K"
  redis config set maxmemory 1
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "the last word of a holder arrives on a server that ran out of memory" {
  own_server
  hold holder -k "$K"
  redis config set maxmemory 1
  attempt force-release --yes "$K"
  assert_success
  assert_output --partial "the holder's job has stopped"
  finish holder
  assert_equal "$status" 76
}

@test "a release with a waiter on a server out of memory leaves a free lock" {
  own_server
  hold first -k "$K"
  start second -k "$K" -w 60s -- echo second
  wait_queued "$K" 1
  redis config set maxmemory 1
  let_go first
  assert_success
  redis config set maxmemory 0
  finish second
  assert_output second
}

# A server that reads its data for seconds: a file of 1000 values, 3 ms each.
loading_server() {
  own_server
  redis eval 'for i = 1, 1000 do redis.call("set", "filler" .. i, string.rep("x", 2000)) end' 0
  redis config set save '3600 1'
  redis save
  kill_redis "$SERVER"
  printf '%s\0' --key-load-delay "$1" --loading-process-events-interval-bytes 1024 --rdbcompression no >"$SERVER/options"
  restart_redis "$SERVER"
}

@test "a server that still loads its data grants nothing: 69" {
  loading_server 20000
  run redis get x
  assert_output --partial LOADING
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line LOADING
  [[ ! -e $T/ran ]]
  kill_redis "$SERVER"
}

@test "a waiter outlasts the loading" {
  loading_server 1000
  run rlock -q -k "$K" -w 60s -- echo ran
  assert_success
  assert_output ran
}

@test "a server that nobody chose is said where no terminal is" {
  unset RLOCK_SERVER
  attempt -k "$K" -w 0 -- true
  assert_stderr_line 'using the default server'
  assert_stderr_line 'redis://127.0.0.1:6379'
  attempt -q -k "$K" -- true
  [[ $stderr != *'using the default server'* ]]
  attempt -S redis://127.0.0.1:6379 -k "$K" -- true
  [[ $stderr != *'using the default server'* ]]
}

# took MS COMMAND...: runs it, and fails if it took longer.
took() {
  local most=$1 began ms
  shift
  began=$(now_ms)
  "$@"
  ms=$(($(now_ms) - began))
  ((ms < most)) || fail "$ms ms"
}

@test "a silent server is given up when the wait ends, or the time for an answer does" {
  local command
  own_server
  kill -STOP "$(<"$SERVER/pid")"
  took 9000 attempt -n -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line 'no answer' '5s'
  took 4500 attempt -w 1s -k "$K" -- true
  assert_equal "$status" 69
  assert_stderr_line '1s'
  took 4500 attempt -n --connect-timeout 500ms -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line '500ms'
  # The time is said once, and taken once: two seconds, and a busy machine may take nearly two more.
  for command in list 'log x' metrics; do
    # shellcheck disable=SC2086
    took 3900 attempt $command --connect-timeout 2s
    assert_equal "$status" 69
    assert_one_stderr_line '2s'
  done
  for command in 'inspect x' list 'cancel x' 'release -k x --token x' 'check -k x --token x'; do
    # shellcheck disable=SC2086
    took 3500 attempt $command --connect-timeout 500ms
    assert_equal "$status" 69
    assert_one_stderr_line '500ms'
  done
  took 4500 attempt doctor --connect-timeout 500ms
  assert_equal "$status" 1
  assert_output --partial 'no answer'
  kill -CONT "$(<"$SERVER/pid")"
  attempt -k "$K" --connect-timeout 50ms -- true
  assert_equal "$status" 64
}

@test "a waiter outlasts a proxy that cannot reach its server, in whatever words it says so" {
  local words
  own_server
  start_proxy
  for words in 'no upstream host' 'upstream failure' 'ERR Connection refused' 'ERR server closed connection' \
    'Connection timed out' 'ERR No route to host'; do
    proxy say "=-$words\\r\\n"
    attempt -k "$K" -- touch "$T/ran"
    assert_equal "$status" 69
    assert_one_stderr_line "$words"
    start waiter -k "$K" -w 60s -- echo ran
    wait_until says "$T/waiter.err" "$words"
    proxy pass
    finish waiter
    assert_success
    assert_output ran
  done
  [[ ! -e $T/ran ]]
  stop_proxy
}

# hosts_file ADDRESS...: /etc/hosts for `with_hosts`, in which locks.test has these addresses.
hosts_file() {
  printf '%s locks.test\n' "$@" >"$T/hosts"
}

# with_hosts COMMAND...: rlock sees that file in place of /etc/hosts.
with_hosts() {
  own_mounts
  # shellcheck disable=SC2016
  "${INSIDE[@]}" sh -c 'mount --bind "$1" /etc/hosts; shift; exec "$@"' sh "$T/hosts" "$@"
}

# A replica at 127.0.0.2 and its master at 127.0.0.3, at one port.
start_replica_and_master() {
  PORT=$(free_port)
  own_server --bind 127.0.0.3 --port "$PORT"
  MASTER=$SERVER
  own_server --bind 127.0.0.2 --port "$PORT" --replicaof "127.0.0.3 $PORT"
  REPLICA=$SERVER
}

@test "a name whose first address is a replica: the next one is asked, with one attempt, in a wait and in a hold" {
  start_replica_and_master
  hosts_file 127.0.0.2 127.0.0.3
  for _ in 1 2; do
    run --separate-stderr with_hosts "$RLOCK_BIN" -S "redis://locks.test:$PORT" -k "$K" -- echo ran
    assert_success
    assert_output ran
    assert_silent
    hosts_file 127.0.0.3 127.0.0.2
  done
  hosts_file 127.0.0.2 127.0.0.3
  run --separate-stderr with_hosts "$RLOCK_BIN" doctor -S "redis://locks.test:$PORT"
  assert_line --regexp '^ok +locking'
  run --separate-stderr with_hosts "$RLOCK_BIN" -S "redis://locks.test:$PORT" -k "$K" -t 2s -- sleep 3
  assert_success
  assert_silent
}

@test "a name whose first address is silent, or refuses: the next one has its share of the time" {
  start_replica_and_master
  redis replicaof no one >/dev/null
  hosts_file 127.0.0.2 127.0.0.3
  pause_redis "$REPLICA"
  run --separate-stderr with_hosts "$RLOCK_BIN" -S "redis://locks.test:$PORT" -k "$K" -- echo ran
  assert_success
  assert_output ran
  assert_silent
  resume_redis "$REPLICA"
  kill_redis "$REPLICA"
  run --separate-stderr with_hosts "$RLOCK_BIN" -S "redis://locks.test:$PORT" -k "$K" -- echo ran
  assert_success
}

@test "a holder whose address falls silent goes on at the next one of the name" {
  local pid
  start_replica_and_master
  hosts_file 127.0.0.4 127.0.0.3
  start_proxy_between "tcp:127.0.0.4:$PORT" "unix:$MASTER/redis.sock"
  own_mounts
  launch holder "${INSIDE[@]}" sh -c 'mount --bind "$1" /etc/hosts; shift; exec "$@"' sh "$T/hosts" \
    "$RLOCK_BIN" -S "redis://locks.test:$PORT" -k "$K" -t 4s -- "$LIB/until-file" "$T/holder.go"
  wait_until says "$T/holder.out" started
  proxy stall
  use_server "$MASTER"
  sleep 5
  held "$K"
  let_go holder
  assert_success
  stop_proxy
}
