#!/usr/bin/env bats
# Several locks for one job: all or none.
load ../lib/rlock

# The two keys of a test, in sorted order.
two_keys() {
  A=$K:a
  B=$K:b
  both=(-k "$B" -k "$A")
}

# long_keys COUNT LENGTH [END]: options for so many keys, in the array `keys`.
long_keys() {
  local count=$1 length=$2 end=${3:-} i fill
  printf -v fill "%0${length}d" 0
  keys=()
  for ((i = 100; i < 100 + count; i++)); do keys+=(-k "$i$fill$end"); done
}

@test "keys whose names the job could not be told are refused before any lock" {
  local keys outer
  own_server
  long_keys 120 1000 x
  attempt "${keys[@]}" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "the job's variable RLOCK_HOLDS would have "
  attempt acquire --ttl 10s --export "${keys[@]}"
  assert_equal "$status" 64
  assert_equal "$(redis dbsize)" 0
  # The names of the outer locks and of the inner ones are told together.
  long_keys 70 1000
  outer=("${keys[@]}")
  long_keys 70 1000 x
  attempt "${keys[@]}" -- true
  assert_success
  attempt "${outer[@]}" -- "$RLOCK_BIN" "${keys[@]}" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "the job's variable RLOCK_HOLDS would have "
  attempt "${outer[@]}" -- "$RLOCK_BIN" -k "$K" -- true
  assert_success
  [[ ! -e $T/ran ]]
}

@test "an environment that leaves no room for what the job is told is refused before any lock" {
  local fill size short before
  own_server
  ulimit -Ss 1024 # a quarter of the stack is for arguments and variables together
  printf -v fill '%0100000d' 0
  attempt -k "$K" -- true
  assert_success
  before=$(redis dbsize)
  size=$(($(env -0 | wc -c) + 8 * $(env -0 | tr -dc '\0' | wc -c)))
  short=$((262144 - size - 100000 - 1800))
  run -64 --separate-stderr env "A=$fill" "B=${fill:0:short/2}" "C=${fill:0:short/2}" \
    "$RLOCK_BIN" -k "${fill:0:1000}" -- touch "$T/ran"
  assert_one_stderr_line "the job's variables and arguments would have "
  assert_equal "$(redis dbsize)" "$before"
  [[ ! -e $T/ran ]]
}

@test "the job holds all of its keys, each with a fence of its own" {
  two_keys
  attempt "${both[@]}" -- sh -c 'echo "$RLOCK_FENCES"; env | grep -c -e "^RLOCK_KEY=" -e "^RLOCK_FENCE="; redis-cli -s "$SERVER/redis.sock" mget '"$A $B"'; echo "$RLOCK_TOKEN"'
  assert_equal "${lines[0]}" "$A=$(fence "$A")"
  assert_equal "${lines[1]}" "$B=$(fence "$B")"
  assert_equal "${lines[2]}" 0
  assert_equal "${lines[3]}" "${lines[5]}"
  assert_equal "${lines[4]}" "${lines[5]}"
  free "$A"
  free "$B"
}

@test "if one is busy none is taken" {
  two_keys
  hold other -k "$B"
  attempt "${both[@]}" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line "'$B' is held by"
  [[ ! -e $T/ran ]]
  free "$A"
  let_go other
  hold other -k "$A"
  attempt "${both[@]}" -- touch "$T/ran"
  assert_equal "$status" 75
  free "$B"
  let_go other
}

@test "runs that name the keys in opposite orders do not wait for each other" {
  local number
  two_keys
  for number in {1..8}; do
    start "one-$number" -q -k "$A" -k "$B" -w 60s -- sh -c "echo x >>'$T/ran'"
    start "two-$number" -q -k "$B" -k "$A" -w 60s -- sh -c "echo x >>'$T/ran'"
  done
  for number in {1..8}; do
    finish "one-$number"
    assert_success
    finish "two-$number"
    assert_success
  done
  line_count_is "$T/ran" 16
  free "$A"
  free "$B"
}

@test "a key named twice counts once" {
  attempt -k "$K" -k "$K" -- sh -c 'echo "$RLOCK_KEY $RLOCK_FENCE"'
  assert_success
  assert_output "$K $(fence "$K")"
}

@test "one keeper refreshes all of them" {
  two_keys
  hold job "${both[@]}" --ttl 5s --grace 100ms
  sleep 6 # longer than any lease
  held "$A"
  held "$B"
  let_go job
  assert_success
}

@test "a lock that is lost stops the job, and the others are given back" {
  two_keys
  hold job "${both[@]}" --ttl 2s
  redis set "$B" thief px 60000
  finish job
  assert_equal "$status" 76
  assert_one_stderr_line "lost the lock '$B'"
  free "$A"
  assert_equal "$(redis get "$B")" thief
}

@test "force-release of one stops the job, says so, and gives the others back" {
  own_server
  two_keys
  hold job "${both[@]}"
  wait_until listening 2
  attempt force-release --yes "$A"
  assert_success
  assert_output --partial "the holder's job has stopped"
  finish job
  assert_equal "$status" 76
  assert_stderr_line "lost the lock '$A': force-released"
  free "$B"
}

@test "the first stays ours while the second is waited for" {
  two_keys
  hold other -k "$B"
  start job "${both[@]}" -w 60s --ttl 3s -- echo ran
  wait_queued "$B" 1
  sleep 2.5 # longer than a lease
  assert_equal "$(json 'd["holder"]["pid"]' inspect --json "$A")" "${PIDS[job]}"
  let_go other
  finish job
  assert_success
  assert_output ran
}

@test "should the first be lost while the second is waited for, both are asked for anew" {
  two_keys
  hold other -k "$B"
  start job "${both[@]}" -w 60s --ttl 3s -- sh -c 'echo "$RLOCK_FENCES"'
  wait_queued "$B" 1
  redis set "$A" thief px 60000
  wait_until queued "$A" 1
  queued "$B" 0
  redis del "$A"
  let_go other
  finish job
  assert_success
  assert_equal "${lines[0]}" "$A=$(fence "$A")"
}

@test "a run that waits for the second key can be cancelled by the first" {
  two_keys
  hold other -k "$B"
  start job "${both[@]}" -w 60s --ttl 3s -- touch "$T/ran"
  wait_queued "$B" 1
  attempt cancel "$A"
  assert_success
  finish job
  assert_equal "$status" 75
  assert_stderr_line 'cancelled by'
  [[ ! -e $T/ran ]]
  queued "$B" 0
  let_go other
}

@test "it hears that at once, long before a refresh is due, and the word that nothing runs is sent" {
  local before ask
  two_keys
  hold other -k "$B"
  for ask in cancel 'force-release --yes'; do
    start job "${both[@]}" -w 10s --ttl 60s -- touch "$T/ran"
    wait_queued "$B" 1
    before=$(now_ms)
    # shellcheck disable=SC2086 # two words
    attempt $ask --wait 8s "$A"
    assert_success
    [[ $stderr != *'may still be running'* ]]
    assert_less $(($(now_ms) - before)) 6000
    [[ $ask == cancel ]] || signal TERM job
    finish job
    [[ ! -e $T/ran ]]
  done
  let_go other
}

@test "a run that is interrupted while it waits for the second gives the first back" {
  two_keys
  hold other -k "$B"
  start job "${both[@]}" -w 60s -- touch "$T/ran"
  wait_queued "$B" 1
  held "$A"
  signal TERM job
  finish job
  assert_equal "$status" 143
  free "$A"
  queued "$B" 0
  let_go other
}

@test "kill -9 leaves both to their leases" {
  two_keys
  hold job "${both[@]}" --ttl 2s
  signal KILL job
  start next "${both[@]}" -w 30s -- echo ran
  finish next
  assert_success
  assert_output ran
  finish job
}

@test "readers may hold several keys as well" {
  two_keys
  hold one "${both[@]}" -s
  hold two "${both[@]}" -s
  attempt -k "$B" -n -- true
  assert_equal "$status" 75
  let_go one
  let_go two
}

@test "brackets, commas and blanks in a key are its own" {
  attempt -k '[a,b]' -k 'c d' -- sh -c 'echo "$RLOCK_FENCES"'
  assert_success
  assert_equal "${lines[0]%=*}" '[a,b]'
  assert_equal "${lines[1]%=*}" 'c d'
}

@test "of several keys none may hold a newline, and none may be empty" {
  attempt -k $'a\nb' -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line newline
  attempt -k "$K" -k '' -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
  free "$K"
  attempt -k $'a\nb' -- true
  assert_success
}

@test "a key that another lock keeps for itself is refused: 78" {
  local suffix
  for suffix in queue alive fence held grants mail:someone; do
    attempt -k "{$K}:rlock:$suffix" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "'$K'"
    attempt -k "a{$K}b:rlock:$suffix" -- touch "$T/ran"
    assert_equal "$status" 78
  done
  [[ ! -e $T/ran ]]
  attempt -k "{$K}:rlock:other" -- true
  assert_success
}
