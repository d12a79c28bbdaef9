#!/usr/bin/env bats
# The tools of these tests do what they say: a proxy that loses nothing would make every fault test pass.
load ../lib/rlock
load ../lib/namespaces

through_proxy() {
  redis-cli -s "$SERVER/proxy.sock" "$@"
}

@test "a private server is paused, killed and started again with the same options" {
  own_server --requirepass secret
  run redis ping
  assert_output --partial NOAUTH
  pause_redis "$SERVER"
  resume_redis "$SERVER"
  kill_redis "$SERVER"
  run redis ping
  assert_failure
  restart_redis "$SERVER"
  REDISCLI_AUTH=secret run redis ping
  assert_output PONG
}

@test "the wire shows what clients sent and not what scripts called" {
  own_server
  watch_wire "$T/wire"
  wire_mark "$T/wire" a
  redis eval 'redis.call("set", "x", 1) return 1' 0
  redis get x
  wire_mark "$T/wire" b
  run wire_between "$T/wire" a b
  assert_equal "${#lines[@]}" 2
  end_watching
}

@test "the proxy delays, drops and swallows answers" {
  local before
  own_server
  start_proxy
  run through_proxy ping
  assert_output PONG
  proxy delay 200
  before=$(now_ms)
  through_proxy ping
  assert_less 190 $(($(now_ms) - before))
  proxy drop-reply set
  run through_proxy get x
  assert_success
  run through_proxy set x 1
  assert_output --partial closed
  assert_equal "$(redis get x)" 1
  proxy drop-request set
  run through_proxy set x 2
  assert_output --partial closed
  assert_equal "$(redis get x)" 1
  proxy swallow-reply set
  launch unanswered redis-cli -s "$SERVER/proxy.sock" set x 3
  wait_until says "$T/proxy.log" 'swallowed reply'
  assert_equal "$(redis get x)" 3
  kill "${PIDS[unanswered]}"
  stop_proxy
}

@test "the proxy stalls without losing, resets and refuses" {
  own_server
  start_proxy
  proxy stall
  launch late redis-cli -s "$SERVER/proxy.sock" set x 4
  wait_until says "$T/proxy.log" 'x $1 4'
  assert_equal "$(redis get x)" ''
  proxy pass
  finish late
  assert_equal "$output" OK
  assert_equal "$(redis get x)" 4
  launch blocked redis-cli -s "$SERVER/proxy.sock" blpop nolist 0
  wait_until says "$T/proxy.log" blpop
  proxy reset
  wait_until says "$T/proxy.log" closed
  proxy refuse
  run through_proxy ping
  assert_output --partial 'Could not connect' # refused, or no socket: Python 3.13 removes it
  proxy pass
  run through_proxy ping
  assert_output PONG
  finish blocked
  stop_proxy
}

@test "a terminal passes keys, the exit code and a hangup" {
  run in_terminal 'expect READY' 'send \x03' -- bash -c 'trap "echo GOT; exit 3" INT; echo READY; sleep 10'
  assert_equal "$status" 3
  assert_output --partial GOT
  run in_terminal 'expect READY' hangup -- bash -c 'echo READY; sleep 10'
  assert_equal "$status" 129
}

@test "a terminal is available even if no devpts is mounted" {
  local hide=()
  ((EUID == 0)) || skip 'only root can take /dev/pts away, and mount another: run the tests as root'
  if mountpoint -q /dev/pts; then
    own_mounts
    hide=("${INSIDE[@]}" sh -c 'umount -l /dev/pts && exec "$@"' _)
  fi
  run "${hide[@]}" "$PYTHON" "$LIB/terminal.py" 'expect READY' 'send \x03' -- \
    bash -c 'trap "echo GOT; exit 3" INT; echo READY; sleep 10'
  assert_equal "$status" 3
}

@test "a terminal has job control in a shell" {
  interactive_shell
  run in_terminal 'expect ready>' "send $LIB/log-signals $T/log $T/end 4\\r" "until grep -qs started $T/log" 'send \x1a' \
    'expect Stopped' 'expect ready>' 'send fg\r' "until grep -q CONT $T/log" "run touch $T/end" \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 4
}
