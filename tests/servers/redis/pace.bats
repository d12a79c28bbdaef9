#!/usr/bin/env bats
# A server, or a proxy before it, that cuts what it is asked must not make rlock ask as fast as it can.
load ../../lib/rlock
load ../../lib/quorum
load ../../lib/hostile

# requests_in_a_second TEXT: how many requests with TEXT came through the proxy, after the first two seconds.
requests_in_a_second() {
  local text=$1 before
  sleep 2.5
  before=$(grep -cF -e "$text" "$T/proxy.log" || true)
  sleep 1
  echo "$(($(grep -cF -e "$text" "$T/proxy.log" || true) - before))"
}

# few_requests: of one rlock in that second. Claims are EVALSHA or EVAL; a new connection says `connect`.
few_requests() {
  local count
  count=$(requests_in_a_second request)
  assert_less "$count" 31
}

# cut_waiter MODE...: a waiter whose proxy is in that mode until its turn comes.
cut_waiter() {
  own_server
  hold holder -k "$K"
  start_proxy
  proxy "$@"
  start waiter -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  few_requests
  proxy pass
  let_go holder
  finish waiter
  assert_success
  assert_output ran
  stop_proxy
}

@test "a proxy that closes the connection at a blocking read: a waiter asks seldom, and says so" {
  cut_waiter cut BLPOP
  assert_stderr_line "waiting for '$K': each wait ends at once (the connection broke"
  assert_equal "$(grep -c 'each wait ends' <<<"$stderr")" 1
}

@test "a blocking read that is answered with nothing at once: a waiter asks seldom, and says so" {
  cut_waiter say 'BLPOP=*-1\r\n'
  assert_stderr_line "each wait ends at once (a blocking read came back empty before its time)"
}

@test "a blocking read that is refused: a waiter asks seldom, and says so" {
  cut_waiter say 'BLPOP=-ERR unsupported command\r\n'
  assert_stderr_line "each wait ends at once (the server says: ERR unsupported command)"
}

@test "a server that wakes a waiter without end is asked some times a second" {
  cut_waiter say 'BLPOP=*2\r\n$1\r\nm\r\n$4\r\nturn\r\n'
}

@test "a server that says without end that another one is next is asked some times a second" {
  cut_waiter say 'BLPOP=*2\r\n$1\r\nm\r\n$4\r\nnext\r\n'
}

@test "a server that takes away without end what was reserved is asked some times a second" {
  cut_waiter say 'BLPOP=*2\r\n$1\r\nm\r\n$10\r\nlost - ann\r\n'
}

@test "a holder that hears of nothing, at once and without end, listens again once a second" {
  local answer
  for answer in '*-1\r\n' '*2\r\n$1\r\nm\r\n$4\r\nturn\r\n' '-MOVED 1 127.0.0.1:1\r\n'; do
    own_server
    rm -f "$T/proxy.control"
    start_proxy
    proxy say "BLPOP=$answer"
    hold holder -k "$K"
    few_requests
    let_go holder
    assert_success
    stop_proxy
  done
}

@test "rlock cancel on a server that cuts its wait asks a few times a second" {
  own_server
  hold_stubborn holder --grace 60s -t 130s
  start_proxy
  proxy cut BLPOP
  start cancel cancel "$K" --wait 5s
  few_requests
  finish cancel
  assert_equal "$status" 75
  stop_proxy
  signal KILL holder
  end_leftovers
}

# A quorum of three proxies before three servers.
@test "a quorum whose servers all cut blocking reads is asked a few times a second" {
  local number urls=''
  start_quorum 3
  hold holder -k "$K"
  for number in 1 2 3; do
    mkfifo "$T/control.$number"
    : >"$T/log.$number"
    launch "proxy$number" "$PYTHON" "$LIB/proxy.py" "unix:${NODES[number - 1]}/proxy.sock" \
      "unix:${NODES[number - 1]}/redis.sock" "$T/control.$number" "$T/log.$number"
    wait_until says "$T/log.$number" listening
    echo 'cut BLPOP' >"$T/control.$number"
    wait_until says "$T/log.$number" 'mode cut'
    urls+=" unix://${NODES[number - 1]}/proxy.sock"
  done
  RLOCK_SERVER=${urls# } start waiter -k "$K" -w 60s -- echo ran
  sleep 3
  cat "$T"/log.? >"$T/before"
  sleep 1
  cat "$T"/log.? >"$T/after"
  assert_less "$(($(grep -c '^request' "$T/after") - $(grep -c '^request' "$T/before")))" 60
  let_go holder
  finish waiter
  assert_success
  assert_output ran
  assert_stderr_line 'each wait ends at once'
  for number in 1 2 3; do
    kill "${PIDS[proxy$number]}"
    wait_until gone "${PIDS[proxy$number]}"
  done
}

@test "a ZooKeeper that hangs up at once is connected to some ten times a second" {
  local port before
  port=$(free_port)
  start_hostile "$port=closed"
  start waiter -S "zk://127.0.0.1:$port" -k "$K" -w 60s -- true
  sleep 1.5
  wait_until says "$T/hostile.log" "said closed"
  before=$(grep -c "said closed" "$T/hostile.log")
  sleep 1
  assert_less "$(($(grep -c 'said closed' "$T/hostile.log") - before))" 16
  signal TERM waiter
  finish waiter
  stop_hostile
}
