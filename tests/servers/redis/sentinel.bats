#!/usr/bin/env bats
# redis+sentinel://: the master that Sentinel names, followed through failovers.
load ../../lib/rlock
load ../../lib/sentinel

@test "a job runs under a lock of the master" {
  start_sentinels
  attempt -k "$K" -- redis-cli -s "$MASTER/redis.sock" get "$K"
  assert_success
  [[ $output == "$(id -un)@"* ]]
  hold holder -k "$K"
  attempt inspect -q "$K"
  assert_success
  attempt -k "$K" -- true
  assert_equal "$status" 75
  let_go holder
  assert_success
}

@test "a hold survives a failover in its middle" {
  DOWN_AFTER=500 start_sentinels
  hold holder -k "$K" --ttl 30s --sync-replicas 2
  fail_over
  wait_refreshed "$K"
  let_go holder
  assert_success
  assert_silent
  free "$K"
}

@test "a wait survives a failover in its middle" {
  DOWN_AFTER=500 start_sentinels
  hold holder -k "$K" --ttl 30s --sync-replicas 2
  queue_up waiter "$K" 1 -q -- echo ran
  fail_over
  wait_refreshed "$K"
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output ran
}

@test "a lock that did not reach the new master is lost, and the job is stopped" {
  DOWN_AFTER=500 start_sentinels
  pause_redis "${REPLICAS[0]}"
  pause_redis "${REPLICAS[1]}"
  hold holder -k "$K" --ttl 10s
  kill_redis "$MASTER"
  resume_redis "${REPLICAS[0]}"
  resume_redis "${REPLICAS[1]}"
  PATIENCE=60 wait_until has_new_master
  redis del "$K" # whatever the socket buffers still had
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K'"
}

# depose: the sentinels make a replica the master, and the one so far, which they cannot tell, goes on serving.
depose() {
  redis-cli -s "$MASTER/redis.sock" acl setuser default -replicaof -slaveof -multi -client >/dev/null
  redis-cli -s "${SENTINELS[0]}/redis.sock" sentinel failover main >/dev/null
  PATIENCE=60 wait_until has_new_master
}

@test "a holder at a master that was replaced, and goes on serving, moves to the new one" {
  start_sentinels
  hold holder -k "$K" --ttl 4s
  depose
  start heir -q -k "$K" -w 60s -- touch "$T/ran"
  wait_queued "$K" 1
  sleep 5 # a lease, and some
  [[ ! -e $T/ran ]]
  let_go holder
  assert_success
  assert_silent
  finish heir
  assert_success
}

@test "a holder at a master that was replaced is stopped if the new one does not have its lock" {
  start_sentinels
  hold holder -k "$K" --ttl 6s
  depose
  redis set "$K" somebody px 60000 >/dev/null
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$K'"
}

@test "a first sentinel that is silent costs a run a moment" {
  local from took quickest=60000
  start_sentinels
  pause_redis "${SENTINELS[0]}"
  for _ in 1 2 3; do # what a busy machine adds is no sentinel's silence
    from=$(now_ms)
    attempt -k "$K" -- true
    assert_success
    took=$(($(now_ms) - from))
    quickest=$((took < quickest ? took : quickest))
  done
  # Far from the 5 s that a server is given, also on a busy machine.
  assert_less "$quickest" 1500
}

@test "some sentinels may be dead or silent" {
  start_sentinels
  kill_redis "${SENTINELS[0]}"
  pause_redis "${SENTINELS[1]}"
  attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "sentinels with a password of their own" {
  SENTINEL_AUTH=sesame start_sentinels 'requirepass sesame' 'sentinel sentinel-pass sesame'
  attempt -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line NOAUTH
  attempt -S "$SENTINEL_URL?sentinel-password=wrong" -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line WRONGPASS
  refute [ "${stderr#*wrong}" != "$stderr" ]
  attempt -S "$SENTINEL_URL?sentinel-password=sesame" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "a master with a password and a database" {
  start_sentinels
  redis-cli -s "$MASTER/redis.sock" acl setuser batch on '>right' '~*' '+@all' >/dev/null
  attempt -S "${SENTINEL_URL/:\/\//://batch:right@}/3" -k "$K" -- redis-cli -s "$MASTER/redis.sock" -n 3 exists "$K"
  assert_success
  assert_output 1
  attempt -S "${SENTINEL_URL/:\/\//://batch:wrong@}" -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line WRONGPASS
}

@test "a name that no sentinel knows, and nobody there at all: 69" {
  start_sentinels
  attempt -S "${SENTINEL_URL%/main}/other" -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line "knows no master 'other'"
  attempt -S "redis+sentinel://127.0.0.1:$(free_port)/main" -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line 'cannot reach' 'Connection refused'
}

# A sentinel of yesterday: whatever it is asked, it names the server at PORT.
start_liar() {
  local port=$1 liar_port
  liar_port=$(free_port)
  launch liar "$PYTHON" -c '
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    c, _ = s.accept()
    if c.recv(1000):
        c.sendall(b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n" % (len(sys.argv[2]), sys.argv[2].encode()))' "$liar_port" "$port"
  wait_until says "$T/liar.out" listening
  LIAR=127.0.0.1:$liar_port
}

@test "a replica that is named as master is not believed, and the next sentinel is asked" {
  start_sentinels
  start_liar "$(redis-cli -s "${REPLICAS[0]}/redis.sock" config get port | tail -n 1)"
  attempt -S "redis+sentinel://$LIAR/main" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'is named as the master, but is not one (yet)'
  [[ ! -e $T/ran ]]
  attempt -S "redis+sentinel://$LIAR,127.0.0.1:$SENTINEL_PORT/main" -k "$K" -- echo ran
  assert_success
  assert_output ran
  kill "${PIDS[liar]}"
  wait_until gone "${PIDS[liar]}"
}

@test "URLs that say too little or too much" {
  local url
  for url in redis+sentinel:// redis+sentinel://host redis+sentinel://host/ redis+sentinel:///main \
    redis+sentinel://host:x/main redis+sentinel://host/main/x 'redis+sentinel://host/main?db=2' \
    'redis+sentinel://u:%@host/main'; do
    attempt -S "$url" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line --server
  done
  [[ ! -e $T/ran ]]
}

@test "no password is shown, wherever it stands in the URL" {
  local url
  for url in 'redis+sentinel://u:geheim@h/main/x' 'redis+sentinel://h/main/x?sentinel-password=geheim' \
    'redis+sentinel://h/main/x?sentinel-user=a&sentinel-password=ge@geheim' 'redis+sentinel://u:geh?eim@h/m/x?sentinel-password=geheim'; do
    attempt -S "$url" -k "$K" -- true
    assert_equal "$status" 78
    [[ $stderr != *geh* && $stderr != *eim* ]] || fail "$stderr"
  done
}

# start_without_role: a server that does not know ROLE, and a sentinel for which it is the master
start_without_role() {
  MASTER_PORT=$(free_port)
  own_server --bind 127.0.0.1 --port "$MASTER_PORT" --rename-command ROLE ''
  SENTINELS=()
  start_sentinel
}

@test "a master that does not know ROLE, or allows it to nobody, is asked by INFO, and then believed" {
  start_without_role
  attempt -S "redis+sentinel://127.0.0.1:$SENTINEL_PORT/main" -k "$K" -- echo ran
  assert_success
  assert_output ran
  redis acl setuser few on '>word' '~*' '&*' +@all -info >/dev/null
  attempt -S "redis+sentinel://few:word@127.0.0.1:$SENTINEL_PORT/main" -k "$K" -- echo ran
  assert_success
  attempt list -S "redis+sentinel://127.0.0.1:$SENTINEL_PORT/main"
  assert_success
}

@test "a replica that does not know ROLE is no master" {
  start_without_role
  redis replicaof 127.0.0.1 1 >/dev/null
  attempt -S "redis+sentinel://127.0.0.1:$SENTINEL_PORT/main" -k "$K" -- echo ran
  assert_equal "$status" 69
  assert_stderr_line 'is named as the master, but is not one (yet)'
}
