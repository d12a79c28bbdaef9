#!/usr/bin/env bats
# One server, one key: exclusion, who holds it, fences, and what remains.
load ../lib/rlock

ttl_of() {
  redis pttl "$1"
}

@test "a second holder is turned away while the first runs, and let in after" {
  hold first -k "$K"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  let_go first
  assert_success
  rlock -k "$K" -- touch "$T/ran"
  [[ -e $T/ran ]]
}

@test "two hundred runs of eight processes never overlap" {
  local worker
  # mkdir is atomic: it fails if another job is inside.
  for worker in {1..8}; do
    launch "worker-$worker" bash -c 'for i in {1..25}; do
      "$RLOCK_BIN" -k "$K" -w 60s -q -- sh -c "mkdir \"$T/inside\" && rmdir \"$T/inside\"" || exit 1
      echo done
    done'
  done
  # Under a sanitizer a run is 100 ms of a processor.
  for worker in {1..8}; do
    PATIENCE=100 finish "worker-$worker"
    assert_success
    assert_equal "${#lines[@]}" 25
  done
}

@test "other keys do not exclude each other" {
  hold first -k "$K:a"
  run rlock -k "$K:b" -- echo ran
  assert_output ran
  let_go first
}

@test "the busy line says who, how long, and what to type next" {
  hold first -k "$K" --label nightly
  attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is held by $(id -un)@$(hostname):${PIDS[first]}/nightly for "
  assert_stderr_line "rlock inspect $K"
  let_go first
}

@test "a line to copy names the server that was typed, without its password" {
  local file=file://$T/locks
  mkdir -m 700 "$T/locks"
  hold first -S "$file" -k "$K"
  attempt -S "$file" -k "$K" -- true
  assert_one_stderr_line "rlock inspect -S $file $K"
  attempt cancel -S "$file" 'a:*'
  assert_one_stderr_line "nobody holds 'a:*'; for all locks that match: rlock list -S $file 'a:*'"
  attempt release -S redis://user:secret@127.0.0.1 "$K"
  assert_one_stderr_line "rlock inspect -S URL $K"
  [[ $stderr != *secret* ]]
  attempt inspect -S "$file" 'a:?'
  assert_success
  assert_one_stderr_line "'a:?' is a key here; for all locks that match: rlock list -S $file 'a:?'"
  let_go first
}

@test "the busy line quotes a key for the shell" {
  hold first -k "$K two;words"
  attempt -k "$K two;words" -- true
  assert_one_stderr_line 'rlock inspect '
  [[ $stderr != *"inspect $K two;words"* ]]
  let_go first
}

@test "the key's value is the token and nothing else, unlike any other" {
  local first second shape
  first=$(rlock -k "$K" -- sh -c 'redis-cli -s "$SERVER/redis.sock" get "$RLOCK_KEY"; echo "$RLOCK_TOKEN"')
  second=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"')
  assert_equal "${first%$'\n'*}" "${first#*$'\n'}"
  shape="^$(id -un)@[^:]+:[0-9]+/sh#[0-9a-f]{40}$"
  [[ $second =~ $shape ]] || fail "token: $second"
  [[ $second != "${first#*$'\n'}" ]]
}

@test "the label is the command's base name, or what --label says" {
  run rlock -k "$K" -- /bin/sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --partial '/sh#'
  run rlock -k "$K" --label 'Zürich [1] #2 / x' -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_output --regexp '/Zürich \[1\] #2 / x#[0-9a-f]{40}$'
  [[ $output == "$(id -un)@"* ]]
}

@test "a label that a token could not hold is refused" {
  local label
  for label in '' $'a\nb' $'\e[31m' $'\xff' $'\xc2\x9b31m'; do
    attempt -k "$K" --label "$label" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_one_stderr_line --label
    [[ $stderr != *$'\e'* && ! -e $T/ran ]]
  done
}

@test "a command with a strange name makes a token all the same" {
  local name=$'od#d\n\e[31m\xff'
  cp /bin/true "$T/$name"
  rlock -k "$K" -- "$T/$name"
  rlock -v -k "$K" -- "$T/$name" 2>"$T/errors"
  [[ $(<"$T/errors") != *$'\e'* ]]
}

@test "the lease is set with the grant and the key goes with the release" {
  hold first -k "$K" -t 20s
  assert_less "$(ttl_of "$K")" 20001
  assert_less 10000 "$(ttl_of "$K")"
  let_go first
  free "$K"
}

@test "the job is told key, token, fence, server and that it holds" {
  run rlock -k "$K" -- sh -c 'env | grep ^RLOCK_ | grep -v ^RLOCK_BIN= | sed s/=.*// | sort'
  assert_output $'RLOCK_FENCE\nRLOCK_HELD\nRLOCK_HOLDS\nRLOCK_KEY\nRLOCK_SERVER\nRLOCK_TOKEN'
  run rlock -k "$K" -- sh -c 'echo "$RLOCK_KEY $RLOCK_HELD $RLOCK_SERVER"'
  assert_output "$K 1 $RLOCK_SERVER"
}

@test "a nested rlock on the same key fails at once and says who holds it" {
  local before
  before=$(now_ms)
  attempt -k "$K" --label outer -- "$RLOCK_BIN" -k "$K" -w 60s -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line /outer
  [[ ! -e $T/ran ]]
  assert_less $(($(now_ms) - before)) 20000
}

@test "a key that another took meanwhile is not released" {
  start first -k "$K" --on-lost warn -- sh -c 'redis-cli -s "$SERVER/redis.sock" set "$RLOCK_KEY" thief px 60000; exit 3'
  finish first
  assert_equal "$status" 3
  assert_equal "$(redis get "$K")" thief
  [[ -n $stderr ]]
}

@test "fences grow from grant to grant" {
  local last=0 now number
  for number in {1..10}; do
    now=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
    ((now > last)) || fail "round $number: $now after $last"
    last=$now
  done
}

@test "fences grow after the fence key is gone, FLUSHALL and a restart without data" {
  local first second third fourth
  own_server
  first=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  redis del "$(companion "$K" fence)"
  second=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  redis flushall
  third=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  fourth=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  ((first < second && second < third && third < fourth)) || fail "$first $second $third $fourth"
}

@test "fences grow when the server's clock was ahead once" {
  local ahead=9000000000000000 now
  redis set "$(companion "$K" fence)" "$ahead old-token"
  now=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  assert_equal "$now" $((ahead + 1))
  now=$(rlock -k "$K" -- sh -c 'echo "$RLOCK_FENCE"')
  assert_equal "$now" $((ahead + 2))
}

@test "only the fence and the memory of runs remain, and they expire by themselves" {
  own_server
  hold first -k "$K"
  start second -k "$K" -w 60s -- true
  wait_queued "$K" 1
  start third -k "$K" -w 300ms -- true
  finish third
  let_go first
  finish second
  assert_success
  only_left "$K"
  assert_less "$(redis ttl "$(companion "$K" fence)")" 86431 # a day after the last lease
  assert_less 80000 "$(redis ttl "$(companion "$K" fence)")"
  assert_less "$(redis ttl "$(companion "$K" runs)")" 691201 # eight
  assert_less 691000 "$(redis ttl "$(companion "$K" runs)")"
}

@test "companion keys share the lock's Cluster slot, with a {tag} of its own too" {
  local key
  own_server
  for key in plain "with{tag}inside"; do
    hold first -k "$key"
    start second -k "$key" -w 60s -- true
    wait_queued "$key" 1
    held "$(companion "$key" fence)"
    let_go first
    finish second
    assert_success
    held "$(companion "$key" runs)"
    redis del "$(companion "$key" fence)" "$(companion "$key" runs)"
    assert_equal "$(redis dbsize)" 0
  done
}

@test "scripts are loaded again after SCRIPT FLUSH and after a restart of the server" {
  own_server
  run rlock -k "$K" -- echo one
  assert_output one
  redis script flush
  run rlock -k "$K" -- echo two
  assert_output two
  run rlock -k "$K" -- redis-cli -s "$SERVER/redis.sock" script flush
  assert_success
  free "$K"
  kill_redis "$SERVER"
  restart_redis "$SERVER"
  run rlock -k "$K" -- echo three
  assert_output three
}
