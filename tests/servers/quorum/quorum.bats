#!/usr/bin/env bats
# Several --server: a lock is what more than half of them say.
load ../../lib/rlock
load ../../lib/quorum

@test "all servers have the lock while the job runs, with one fence, and none afterwards" {
  start_quorum
  hold holder -k "$K"
  wait_until on_nodes "$K" 3
  assert_equal "$(node 1 get "$K")" "$(node 2 get "$K")"
  assert_equal "$(node 1 get "$K")" "$(node 3 get "$K")"
  fence_is_confirmed "$(seen_fence)"
  let_go holder
  assert_success
  assert_silent
  wait_until on_nodes "$K" 0
}

seen_fence() {
  json 'd["fence"]' inspect --json "$K"
}

# fence_is_confirmed FENCE: more than half of the nodes have it as that of the last grant.
fence_is_confirmed() {
  local fence=$1 number count=0
  for number in 1 2 3; do
    if [[ $(node "$number" get "{$K}:rlock:fence") == "$fence "* ]]; then
      ((count += 1))
    fi
  done
  ((count >= 2))
}

@test "-S several times, or one text with blanks, are the same servers to a nested run" {
  start_quorum
  local -a urls
  read -ra urls <<<"$RLOCK_SERVER"
  unset RLOCK_SERVER
  # shellcheck disable=SC2016
  attempt -S "${urls[0]}" -S "${urls[1]}" -S "${urls[2]}" -k "$K" -- sh -c 'echo "$RLOCK_SERVER"; "$RLOCK_BIN" -k "$K" -- true'
  assert_equal "$status" 75
  assert_equal "${lines[0]}" "${urls[*]}"
  assert_stderr_line 'the run around this command'
  mkdir -p "$HOME/.config/rlock"
  echo "server = ${urls[*]}" >"$HOME/.config/rlock/rlock.conf"
  attempt -k "$K" -- redis-cli -s "${NODES[2]}/redis.sock" exists "$K"
  assert_output 1
}

@test "an even number, the same server twice and servers of other kinds are usage errors" {
  local one=redis://127.0.0.1:1 two=redis://127.0.0.1:2 three
  attempt -S "$one" -S "$two" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'an even number'
  for three in "$one/5" redis://u:p@127.0.0.1:1 redis+sentinel://127.0.0.1:1/m; do
    attempt -S "$one" -S "$two" -S "$three" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_one_stderr_line 'twice'
    [[ $stderr != *u:p@* ]]
  done
  attempt -S "$one" -S "$two" -S "file:///tmp/x" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'Redis'
  # In a file it is the file's mistake.
  printf 'server = %s\nserver = %s\n' "$one" "$two" >"$T/conf"
  RLOCK_SERVER='' attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/conf:1: server: " 'an even number'
  [[ ! -e $T/ran ]]
}

@test "a minority that is dead does not matter, not to a wait either" {
  start_quorum
  kill_redis "${NODES[0]}"
  hold holder -k "$K"
  start waiter -q -k "$K" -w 60s -- echo 'my turn'
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
}

@test "a minority that is silent does not matter" {
  start_quorum
  pause_redis "${NODES[1]}"
  attempt -k "$K" -- echo ran
  assert_success
  assert_silent
  assert_output ran
  hold holder -k "$K" --ttl 5s --grace 100ms
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  # For longer than the ttl, so with refreshes.
  attempt -q -k "$K" -w 6s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  assert_success
  resume_redis "${NODES[1]}"
  [[ ! -e $T/ran ]]
}

@test "two of five may fail in different ways" {
  start_quorum 5
  pause_redis "${NODES[1]}"
  kill_redis "${NODES[4]}"
  attempt -k "$K" -- echo ran
  assert_success
  assert_output ran
  resume_redis "${NODES[1]}"
}

@test "a server that is slow is waited for only if it is needed" {
  start_quorum
  use_server "${NODES[2]}"
  start_proxy
  proxy delay 4000
  export RLOCK_SERVER="unix://${NODES[0]}/redis.sock unix://${NODES[1]}/redis.sock unix://${NODES[2]}/proxy.sock"
  local from
  from=$(now_ms)
  attempt -k "$K" -- true
  assert_success
  assert_less "$(($(now_ms) - from))" 3900
  proxy delay 400
  kill_redis "${NODES[0]}"
  attempt -k "$K:2" -- true
  assert_success
  stop_proxy
}

@test "a server that lost its data gets the lock back with a refresh" {
  start_quorum
  hold holder -k "$K" --ttl 15s # refreshed after 5 s: time enough to look
  wait_until on_nodes "$K" 3
  node 1 flushall >/dev/null
  on_nodes "$K" 2
  wait_until on_nodes "$K" 3
  let_go holder
  assert_success
  wait_until on_nodes "$K" 0
}

@test "fences grow although a server lost its data and another one is gone" {
  local last
  start_quorum
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  last=$output
  node 1 flushall >/dev/null
  kill_redis "${NODES[2]}"
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  assert_success
  assert_less "$last" "$output"
}

@test "the fence is the highest of the nodes', and all of them take it over" {
  local far=9000000000000000
  start_quorum
  # Any two of three servers have one of these among them.
  node 1 set "{$K}:rlock:fence" "$far x" >/dev/null
  node 2 set "{$K}:rlock:fence" "$far x" >/dev/null
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  # Two servers with the same number are told apart first, which takes numbers.
  assert_less "$far" "$output"
  fence_is_confirmed "$output"
}

@test "a fence is not taken over by a node that has given a later one, or to another" {
  own_server
  redis set "$K" token >/dev/null
  redis set "{$K}:rlock:fence" '500 token' >/dev/null
  assert_equal "$(script raise token token fence 499 ttl 1000)" -2
  assert_equal "$(script raise token other fence 600 ttl 1000)" -1
  assert_equal "$(redis get "{$K}:rlock:fence")" '500 token'
  assert_equal "$(script raise token token fence 600 ttl 1000)" 1
  assert_equal "$(redis get "{$K}:rlock:fence")" '600 token'
  redis del "$K" >/dev/null
  assert_equal "$(script raise token token fence 700 ttl 1000)" 0
}

@test "a majority that is gone ends the job before the lease does" {
  local from
  start_quorum
  hold holder -k "$K" --ttl 9s
  kill_redis "${NODES[0]}"
  kill_redis "${NODES[1]}"
  from=$(now_ms)
  wait_until gone "$(job_of holder)"
  assert_less "$(($(now_ms) - from))" 9100
  finish holder
  assert_equal "$status" 76
}

@test "a majority that lost its data has lost the lock" {
  start_quorum
  hold holder -k "$K" --ttl 30s --grace 1s
  wait_until on_nodes "$K" 3
  # A refresh comes after 10 s: told by the operator, as the server would not.
  attempt force-release --yes "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  wait_until on_nodes "$K" 0
}

@test "without a majority nothing runs, and it is said how many are missing" {
  start_quorum
  kill_redis "${NODES[0]}"
  kill_redis "${NODES[1]}"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line '2 of 3 servers'
  assert_equal "$(node 3 exists "$K")" 0
  attempt inspect "$K"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
}

@test "a foreign lock on a minority does no harm, on a majority it counts" {
  start_quorum
  node 1 set "$K" foreign px 60000 nx >/dev/null
  attempt -k "$K" -- echo ran
  assert_success
  assert_equal "$(node 1 get "$K")" foreign
  node 2 set "$K" foreign px 60000 nx >/dev/null
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line 'foreign'
  [[ ! -e $T/ran ]]
}

@test "of several that come at once, one gets it, with a single attempt each" {
  local round number ran
  start_quorum
  for round in {1..5}; do
    for number in 1 2 3; do
      start "w$number" -q -k "$K:$round" -- sh -c "echo x >>'$T/ran$round'; exec '$LIB/until-file' '$T/go$round'"
    done
    wait_until two_are_gone # the holder keeps it for as long as they ask
    touch "$T/go$round"
    for number in 1 2 3; do
      finish "w$number"
    done
    ran=$(wc -l <"$T/ran$round")
    assert_equal "$ran" 1
  done
}

two_are_gone() {
  local number count=0
  for number in 1 2 3; do
    ! gone "${PIDS[w$number]}" || ((count += 1))
  done
  ((count >= 2))
}

@test "cancel reaches a holder though a server is gone" {
  start_quorum
  hold holder -k "$K"
  kill_redis "${NODES[0]}"
  sleep 1.2 # a holder listens once its job has lasted for a second
  attempt cancel --wait 10s "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "doctor: a server that goes by two names, and one that is down" {
  start_quorum
  ln -s "${NODES[0]}/redis.sock" "$T/other.sock"
  attempt doctor -S "unix://${NODES[0]}/redis.sock" -S "unix://$T/other.sock" -S "unix://${NODES[1]}/redis.sock"
  assert_equal "$status" 1
  [[ $output == *'fail'*'distinct'*'1 and 2 are the same server'* ]]
  kill_redis "${NODES[2]}"
  attempt doctor
  assert_success
  [[ $output == *warn*majority*'2 of 3'* ]]
  kill_redis "${NODES[1]}"
  attempt doctor --json
  assert_equal "$status" 1
  wait_until on_nodes rlock:doctor 0
}

@test "a waiter that gives back what a minority granted keeps its token, and asks seldom" {
  start_quorum
  node 1 set "$K" other >/dev/null
  node 2 set "$K" other >/dev/null
  use_server "${NODES[2]}" # its grant is no majority, and is taken back
  watch_wire "$T/wire"
  start waiter -S "unix://${NODES[0]}/redis.sock" -S "unix://${NODES[1]}/redis.sock" \
    -S "unix://${NODES[2]}/redis.sock" -k "$K" -w 60s -- echo ran
  wait_until tokens_on_wire "$T/wire" 1
  sleep 2
  end_watching
  assert_equal "$(grep -oE '#[0-9a-f]{40}' "$T/wire" | sort -u | wc -l)" 1
  node 1 del "$K" >/dev/null
  finish waiter
  assert_success
}

@test "the passwords of several servers are shown nowhere" {
  local url
  start_quorum
  for url in 1 2 3; do
    node "$url" config set requirepass "secret$url" >/dev/null
  done
  export RLOCK_SERVER="unix://:secret1@${NODES[0]}/redis.sock unix://:secret2@${NODES[1]}/redis.sock unix://:wrong3@${NODES[2]}/redis.sock"
  attempt -v -k "$K" -- true
  assert_success
  [[ $stderr != *secret* && $stderr != *wrong3* ]]
  export RLOCK_SERVER="unix://:secret1@${NODES[0]}/redis.sock unix://:wrong2@${NODES[1]}/redis.sock unix://:wrong3@${NODES[2]}/redis.sock"
  attempt -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line '2 of 3 servers'
  [[ $stderr != *secret* && $stderr != *wrong* ]]
}

@test "a lock that was lost does not come back to life: refreshing it again says 76 again" {
  local token
  start_quorum
  token=$(rlock acquire -k "$K" --ttl 1s)
  wait_until on_nodes "$K" 0
  attempt refresh -k "$K" --ttl 20s --token "$token"
  assert_equal "$status" 76
  on_nodes "$K" 0
  attempt refresh -k "$K" --ttl 20s --token "$token"
  assert_equal "$status" 76
}

@test "a run that lost its lock on every server leaves it to nobody" {
  local number
  start_quorum
  start holder -k "$K" --ttl 15s -- sleep 30
  wait_until on_nodes "$K" 3
  for number in 1 2 3; do node "$number" del "$K"; done
  finish holder
  assert_equal "$status" 76
  on_nodes "$K" 0
}

@test "a server that goes by two names does not count twice: 78, and nothing stays behind" {
  local first second
  start_quorum
  ln -s "${NODES[0]}/redis.sock" "$T/other.sock"
  first=unix://${NODES[0]}/redis.sock
  second=unix://$T/other.sock
  kill_redis "${NODES[2]}"
  attempt -S "$first" -S "$second" -S "unix://${NODES[2]}/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line 'servers 1 and 2 are the same one'
  attempt -S "$first" -S "unix://${NODES[2]}/redis.sock" -S "$second" -k "$K" -w 20s -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line 'servers 1 and 3 are the same one'
  [[ ! -e $T/ran ]]
  assert_equal "$(node 1 exists "$K")" 0
}

# quickest_run: of five runs, in ms; what a busy machine adds is no server's silence.
quickest_run() {
  local from
  for _ in 1 2 3 4 5; do
    from=$(now_us)
    attempt -k "$K:$RANDOM" -- true
    assert_success
    echo "$((($(now_us) - from) / 1000))"
  done | sort -n | head -n 1
}

# silent_costs_little OF: for any of the servers; scripts/bench quorum has the exact figure. A slowdown of one
# measurement is not silence, which slows each of three.
silent_costs_little() {
  local number healthy silent tries
  start_quorum "$1"
  attempt -k "$K" -- true
  for ((number = 0; number < $1; number += 2)); do
    for tries in 2 1 0; do
      healthy=$(quickest_run)
      pause_redis "${NODES[number]}"
      silent=$(quickest_run)
      resume_redis "${NODES[number]}"
      ((silent >= 3 * healthy + 40 && tries > 0)) || break
    done
    assert_less "$silent" $((3 * healthy + 40))
  done
}

@test "one silent server of three costs a run little" {
  silent_costs_little 3
}

@test "one silent server of five costs a run little" {
  silent_costs_little 5
}

@test "a server that is healed has the fence of the grant" {
  local far=9000000000000000 number fence
  start_quorum
  node 1 set "{$K}:rlock:fence" "$far x" >/dev/null
  node 2 set "{$K}:rlock:fence" "$far x" >/dev/null
  # shellcheck disable=SC2016
  start holder -k "$K" --ttl 3s -- sh -c 'echo "$RLOCK_FENCE" >"$T/fence"; sleep 30'
  wait_until test -s "$T/fence"
  fence=$(<"$T/fence")
  assert_less "$far" "$fence"
  for number in 1 2; do
    node "$number" flushall >/dev/null
    wait_until on_nodes "$K" 3
    wait_until has_fence "$number" "$fence"
  done
  signal TERM holder
  finish holder
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  assert_less "$fence" "$output"
}

has_fence() {
  local number=$1 fence=$2
  [[ $(node "$number" get "{$K}:rlock:fence") == "$fence "* ]]
}

@test "a list of a lock that one server lost and another cannot tell of is as inspect has it" {
  start_quorum 3
  hold holder -k "$K" -t 60s
  node 2 flushall
  pause_redis "${NODES[0]}"
  attempt inspect --json "$K" --connect-timeout 500ms
  assert_success
  attempt list --json --connect-timeout 500ms
  assert_success
  assert_equal "$(jq -c '[.locks[] | [.key, (.holders | length)]]' <<<"$output")" "[[\"$K\",1]]"
  attempt log --json --connect-timeout 500ms
  assert_equal "$(jq -r '.locks[].runs[].outcome' <<<"$output")" running
  attempt metrics --connect-timeout 500ms
  assert_line "rlock_holders{key=\"$K\"} 1"
  assert_line "rlock_remembered_runs{key=\"$K\",outcome=\"lost\"} 0"
  resume_redis "${NODES[0]}"
  let_go holder
}

@test "a waiter that only one of three servers has is in no list" {
  start_quorum 3
  hold holder -k "$K" -t 60s
  node 2 zadd "$(companion "$K" queue)" 1 stranger
  node 2 zadd "$(companion "$K" alive)" 9e15 stranger
  attempt list --json
  assert_equal "$(jq -c '[.locks[] | (.waiters | length)]' <<<"$output")" '[0]'
  node 2 zadd "$(companion "$K.free" queue)" 1 stranger
  node 2 zadd "$(companion "$K.free" alive)" 9e15 stranger
  attempt list --json
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" "$K"
  let_go holder
}

@test "a list without a silent server says that it may not be all" {
  start_quorum 3
  hold holder -k "$K" -t 60s
  pause_redis "${NODES[2]}"
  attempt list --connect-timeout 1s
  assert_success
  assert_output --partial "$K"
  assert_stderr_line 'this may not be all: 1 of 3 servers: '
  resume_redis "${NODES[2]}"
  let_go holder
}

@test "a lock of which two servers have nonsense is named as missing, and hides no other" {
  local number
  start_quorum 3
  hold good -k good -t 60s
  hold other -k other -t 60s
  node 1 set '{other}:rlock:queue' x
  attempt list --json
  assert_success
  assert_equal "$(jq -c '[.locks[] | [.key, (.holders | length)]]' <<<"$output")" '[["good",1],["other",1]]'
  assert_one_stderr_line "this may not be all: the lock 'other': " WRONGTYPE
  for number in 1 2; do node "$number" set '{bad}:rlock:queue' x; done
  for number in 2 3; do node "$number" set '{worse}:rlock:alive' x; done
  for number in 1 2; do node "$number" zadd '{worse}:rlock:queue' 1 x; done
  attempt list --json
  assert_equal "$status" 69
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" $'good\nother'
  assert_stderr_line "this is not all: the lock 'bad': "
  attempt metrics
  assert_equal "$status" 69
  assert_output ''
  for number in 1 2 3; do node "$number" del '{other}:rlock:queue' '{bad}:rlock:queue' '{worse}:rlock:alive' '{worse}:rlock:queue'; done
  let_go good
  let_go other
}
