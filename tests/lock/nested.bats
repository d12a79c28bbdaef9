#!/usr/bin/env bats
# A job that wants the lock it runs under.
load ../lib/rlock

# nested OPTION...: a run with these options inside a job that holds $K.
nested() {
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K" "$@"
}

@test "it fails at once and says who holds it" {
  local before
  before=$(now_ms)
  nested -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by $(id -un)@" 'the run around this command' --reentrant
  assert_less $(($(now_ms) - before)) 10000
  [[ ! -e $T/ran ]]
}

@test "also with another lock in between, and with one of several" {
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K:other" -- "$RLOCK_BIN" -k "$K" -w 60s -E 9 -- touch "$T/ran"
  assert_equal "$status" 9
  assert_one_stderr_line "'$K' is held by"
  attempt -k "$K" -k "$K:b" -- "$RLOCK_BIN" -k "$K:a" -k "$K:b" -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K:b' is held by"
  [[ ! -e $T/ran ]]
}

@test "also under another name of the same server" {
  ln -s "$SERVER/redis.sock" "$T/alias.sock"
  attempt -k "$K" -- "$RLOCK_BIN" -S "unix://$T/alias.sock" -k "$K" -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by $(id -un)@" 'the run around this command'
  attempt -k "$K" -- "$RLOCK_BIN" -S "unix://$T/alias.sock" -k "$K" -n -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line 'the run around this command'
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "so does acquire" {
  attempt -k "$K" -- "$RLOCK_BIN" acquire -k "$K" -t 1s -w 20s
  assert_equal "$status" 75
  assert_one_stderr_line 'the run around this command'
}

@test "the same key on another server is another lock" {
  local first=$RLOCK_SERVER
  own_server
  RLOCK_SERVER=$first attempt -k "$K" -- "$RLOCK_BIN" -S "unix://$SERVER/redis.sock" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "--reentrant runs the command, whose exit code is the exit code" {
  nested --reentrant -- sh -c 'echo ran; exit 7'
  assert_equal "$status" 7
  assert_output ran
}

@test "to any depth, with the outer token and fence" {
  attempt -k "$K" -- sh -c 'echo "$RLOCK_TOKEN $RLOCK_FENCE"
    "$RLOCK_BIN" -k "$K:other" -- "$RLOCK_BIN" -k "$K" --reentrant -- "$RLOCK_BIN" -k "$K" --reentrant -- \
      sh -c '\''echo "$RLOCK_TOKEN $RLOCK_FENCE"; "$RLOCK_BIN" check'\'
  assert_success
  assert_equal "${lines[0]}" "${lines[1]}"
  assert_equal "${#lines[@]}" 2
}

@test "the outer release is the release" {
  attempt -k "$K" -- sh -c '"$RLOCK_BIN" -k "$K" --reentrant -- true; redis-cli -s "$SERVER/redis.sock" exists "$K"'
  assert_success
  assert_output 1
  free "$K"
}

@test "several keys, all of them held" {
  attempt -k "$K:a" -k "$K:b" -- "$RLOCK_BIN" -k "$K:b" -k "$K:a" --reentrant -- sh -c 'echo "$RLOCK_FENCES"'
  assert_success
  assert_output "$K:a=$(fence "$K:a")
$K:b=$(fence "$K:b")"
  attempt -k "$K:a" -k "$K:b" -- "$RLOCK_BIN" -k "$K:b" --reentrant -- sh -c 'echo "$RLOCK_KEY $RLOCK_FENCE"'
  assert_success
  assert_output "$K:b $(fence "$K:b")"
}

@test "some of them held is an error" {
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K" -k "$K:b" --reentrant -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line --reentrant
  [[ ! -e $T/ran ]]
}

@test "a nested run does not rely on a lock that the outer run has lost" {
  attempt -k "$K" --on-lost warn -- sh -c \
    'redis-cli -s "$SERVER/redis.sock" set "$K" thief >/dev/null; "$RLOCK_BIN" -k "$K" --reentrant -- touch "$T/ran"'
  assert_equal "$status" 76
  assert_stderr_line "the run around this one, no longer holds '$K'"
  [[ ! -e $T/ran ]]
}

@test "outside a job it is a run like any other" {
  attempt -k "$K" --reentrant -- sh -c 'redis-cli -s "$SERVER/redis.sock" exists "$K"'
  assert_success
  assert_output 1
  free "$K"
}

@test "a daemon that outlived the run it was started in takes the lock like anybody" {
  attempt -k "$K" -- sh -c 'echo "$RLOCK_HOLDS"'
  RLOCK_HELD=1 RLOCK_HOLDS=$output attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "readers are nested the same way" {
  attempt -k "$K" -s -- "$RLOCK_BIN" -k "$K" -s -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  attempt -k "$K" -s -- "$RLOCK_BIN" -k "$K" -s --reentrant -- echo ran
  assert_success
  assert_output ran
}

@test "signals reach a reentrant command" {
  start outer -k "$K" -- "$RLOCK_BIN" -k "$K" --reentrant -- "$LIB/until-file" "$T/never"
  wait_until says "$T/outer.out" started
  signal TERM outer
  finish outer
  assert_equal "$status" 143
  free "$K"
}

@test "a run that has not begun its job does not begin it after the TERM of the run around it" {
  local how
  start_proxy
  for how in outer group; do
    # shellcheck disable=SC2016
    launch outer setsid --wait "$RLOCK_BIN" -k "$K" --grace 8s -- sh -c 'echo "$$" >"$T/inner"
      until [ -e "$T/go" ]; do sleep 0.02; done; exec "$RLOCK_BIN" -k "$K" --reentrant -- touch "$T/ran"'
    wait_until test -s "$T/inner"
    proxy stall
    touch "$T/go"
    wait_until has_connection "$(<"$T/inner")"
    case $how in
      outer) signal TERM outer ;;
      group) kill -TERM -- "-${PIDS[outer]}" ;;
    esac
    sleep 0.5 # the answer is late
    proxy pass
    finish outer
    assert_equal "$status" 143
    [[ ! -e $T/ran ]]
    rm "$T/go" "$T/inner"
  done
  stop_proxy
}

has_connection() {
  local pid=$1
  [[ /proc/$pid/exe -ef $RLOCK_BIN && $(readlink /proc/"$pid"/fd/*) == *socket:* ]]
}
