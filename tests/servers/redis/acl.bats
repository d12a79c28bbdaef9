#!/usr/bin/env bats
# The ACL line of rlock-protocol(7) is enough for all of run and wait, and no word of it is too many.
load ../../lib/rlock
load ../../lib/acl
load ../../lib/quorum
load ../../lib/sentinel
load ../../lib/cluster

# A step says what went wrong, and ends with it. The keys begin as the line's pattern does.

step_run() {
  attempt -k "$K" -- true
  [[ $status == 0 && -z $stderr ]] || { echo "run: $status $stderr"; return 1; }
}

step_doctor() {
  attempt doctor "$K"
  [[ $status == 0 && $output != *fail* ]] || { echo "doctor: $output"; return 1; }
}

# ready NAME: a holder, once its job runs; waiting NAME COUNT: a waiter, once it stands in the queue.
ready() {
  local name=$1
  shift
  rm -f "$T/$name.go"
  start "$name" "$@" -- "$LIB/until-file" "$T/$name.go"
  wait_until says_or_gone "$name"
  says "$T/$name.out" started || { echo "$name: $(<"$T/$name.err")"; return 1; }
}

waiting() {
  local name=$1 key=$2 count=$3
  shift 3
  start "$name" -k "$key" -w 60s "$@"
  wait_until queued_or_gone "$name" "$key" "$count"
  queued "$key" "$count" || { echo "$name: $(<"$T/$name.err")"; return 1; }
}

says_or_gone() { says "$T/$1.out" started || gone "${PIDS[$1]}"; }
queued_or_gone() { queued "$2" "$3" || gone "${PIDS[$1]}"; }
blocked_or_gone() { (($(redis client list | grep -c cmd=blpop) >= $2)) || gone "${PIDS[$1]}"; }

# ended NAME STATUS [TEXT]: within three seconds, which is less than a heartbeat.
ended() {
  local name=$1 wanted=$2 text=${3:-} tries
  for ((tries = 0; tries < 150; tries++)); do
    ! gone "${PIDS[$name]}" || break
    sleep 0.02
  done
  gone "${PIDS[$name]}" || { echo "$name: still there: $(<"$T/$name.err")"; return 1; }
  finish "$name"
  [[ $status == "$wanted" && $stderr == *"$text"* ]] || { echo "$name: $status, not $wanted: $stderr"; return 1; }
}

step_queue_and_hand_off() {
  ready first -k "$K" -t 30s || return
  attempt -k "$K" -- true
  [[ $status == 75 && $stderr == *"held by"* ]] || { echo "busy: $stderr"; return 1; }
  waiting second "$K" 1 -- true || return
  waiting third "$K" 2 -- true || return
  attempt inspect "$K"
  [[ $status == 0 && $output == *"$(id -un)@"* ]] || { echo "inspect: $stderr"; return 1; }
  wait_until blocked_or_gone second 3
  touch "$T/first.go"
  ended first 0 && ended second 0 && ended third 0
}

step_leave() {
  ready holder -k "$K" -t 30s || return
  waiting waiter "$K" 1 -- true || return
  signal TERM waiter
  ended waiter 143 || return
  queued "$K" 0 || { echo 'leave: still queued'; return 1; }
  touch "$T/holder.go"
  ended holder 0
}

step_refresh() {
  ready holder -k "$K" -t 2900ms --grace 100ms || return
  wait_until blocked_or_gone holder 1
  wait_until expiry_differs_or_gone "$(redis pexpiretime "$K")"
  touch "$T/holder.go"
  ended holder 0 || return
  [[ -z $stderr ]] || { echo "refresh: $stderr"; return 1; }
}
expiry_differs_or_gone() { expiry_differs "$K" "$1" || gone "${PIDS[holder]}"; }

step_notices() {
  ready holder -k "$K" -t 30s || return
  wait_until blocked_or_gone holder 1
  attempt cancel "$K"
  ended holder 76 cancelled || return
  ready holder -k "$K" -t 30s || return
  wait_until blocked_or_gone holder 1
  attempt force-release "$K" --yes
  [[ $status == 0 ]] || { echo "force-release: $stderr"; return 1; }
  ended holder 76 force-released || return
  ready holder -k "$K" -t 30s || return
  wait_until blocked_or_gone holder 1
  attempt --supersede -w 20s -k "$K" -- true
  [[ $status == 0 ]] || { echo "supersede: $stderr"; return 1; }
  ended holder 76
}

step_several() {
  local mode
  for mode in -s '--permits 2'; do
    # shellcheck disable=SC2086 # a mode may be two words
    ready one -k "$K" -t 30s $mode && ready two -k "$K" -t 2900ms --grace 100ms $mode || return
    wait_until blocked_or_gone two 2
    # shellcheck disable=SC2086
    waiting three "$K" 1 ${mode/-s/-x} -- true || return
    touch "$T/one.go" "$T/two.go"
    ended one 0 && ended two 0 && ended three 0 || return
  done
}

step_options() {
  attempt --min-hold 300ms --max-waiters 3 -k "$K" -- true
  [[ $status == 0 && -z $stderr ]] || { echo "min-hold: $stderr"; return 1; }
  attempt -w 5s -k "$K" -k "$K:b" -k "$K:c" -- true
  [[ $status == 0 ]] || { echo "several keys: $stderr"; return 1; }
  attempt -k "$K" -- "$RLOCK_BIN" --reentrant -k "$K" -- "$RLOCK_BIN" check --at-least 1s
  [[ $status == 0 && -z $stderr ]] || { echo "reentrant: $stderr"; return 1; }
}

step_separate() {
  local token
  attempt acquire -t 60s -k "$K"
  token=$output
  attempt refresh --token "$token" -t 60s -k "$K"
  [[ $status == 0 ]] || { echo "refresh: $stderr"; return 1; }
  attempt release --token "$token" -k "$K"
  [[ $status == 0 ]] || { echo "release: $stderr"; return 1; }
}

step_loss() {
  ready holder -k "$K" -t 2900ms --grace 100ms || return
  redis set "$K" thief >/dev/null
  ended holder 76 'another holder' || return
  redis del "$K" >/dev/null
}

# everything NUMBER: all steps, on keys of their own, with scripts that the server does not know yet; stops at the first
# that fails.
everything() {
  local number=$1 step
  redis script flush >/dev/null
  for step in run doctor queue_and_hand_off leave refresh notices several options separate loss; do
    K=batch:$number:$step
    "step_$step" || return 1
  done
}

@test "with the least line all of run and wait works" {
  own_server
  least_user
  [[ $(least_line) == 'ACL SETUSER rlock on >password '* ]]
  export RLOCK_SERVER=$LEAST_URL
  everything all
  # Other people's locks are out of reach.
  attempt -k other -- touch "$T/ran"
  assert_equal "$status" 77
  attempt inspect batch-of-others
  assert_equal "$status" 77
  [[ ! -e $T/ran ]]
}

@test "it is also enough on each server of a quorum" {
  local number urls=''
  K=batch:quorum
  start_quorum
  # Of any two granting servers one has to raise its number.
  for number in 1 2 3; do
    node "$number" set "{$K}:rlock:fence" "900000000000000$number x" >/dev/null
    SERVER=${NODES[number - 1]}
    least_user
    urls+=" $LEAST_URL"
  done
  export RLOCK_SERVER=${urls# }
  step_run
  hold holder -k "$K" -t 2900ms --grace 100ms
  attempt -q -k "$K" -w 4s -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  attempt inspect "$K"
  assert_success
  start waiter -q -k "$K" -w 60s -- echo ran
  let_go holder
  assert_success
  finish waiter
  assert_success
}

@test "it is also enough in a Cluster" {
  local dir
  K=batch:cluster
  start_cluster
  for dir in "${NODES[@]}"; do
    SERVER=$dir
    least_user
  done
  SERVER=${NODES[$(owner_of "$K")]}
  export RLOCK_SERVER="redis://rlock:password@${RLOCK_SERVER#*://}"
  step_run
  step_queue_and_hand_off
}

@test "and behind Sentinels, and for who waits at the gate of its host" {
  K=batch:sentinel
  start_sentinels
  least_user
  export RLOCK_SERVER="redis+sentinel://rlock:password@${SENTINEL_URL#*://}"
  step_run
  step_queue_and_hand_off
  K=batch:gate
  hold holder -k "$K"
  start waiter -q -k "$K" --local-gate -w 60s -- echo ran
  wait_queued "$K" 1
  let_go holder
  finish waiter
  assert_success
  assert_output ran
}

@test "no other page or test has a line of its own" {
  run grep -rlE '[+]zrange(byscore)?( |$)' "$REPO/README.md" "$REPO/man" "$REPO/scripts" "$REPO/tests" --include='*.md' --include='*.[17]' \
    --include='*.bash' --include='*.bats' --exclude=acl.bats
  assert_output "$REPO/man/rlock-protocol.7"
  grep -q 'rlock-protocol(7)' "$REPO/README.md"
}

# words: what the line allows, commands and keys.
words() {
  least_line | tr ' ' '\n' | grep '^[+~]'
}

# something_needs FROM TO: each of these words of the line, counted from 1.
something_needs() {
  local from=$1 to=$2 word number=0
  own_server
  while read -r word; do
    ((number += 1))
    least_user "$word"
    if RLOCK_SERVER=$LEAST_URL everything "$number" >"$T/without" 2>&1; then
      fail "nothing needs $word"
    fi
    echo "without $word: $(tail -n 1 "$T/without")"
    end_leftovers
  done < <(words | sed -n "$from,${to}p")
  assert_less 0 "$number"
}

@test "without any one of the first words of it something does not" { something_needs 1 5; }
@test "nor without one of the next five" { something_needs 6 10; }
@test "nor without one of the five after them" { something_needs 11 15; }
@test "nor without one of the next two" { something_needs 16 17; }
@test "nor without one of the last" { something_needs 18 99; }

@test "a right that is missing is named in one line, or the page that names it where the server does not" {
  local word
  own_server
  for word in +get +zadd +zrange +pttl +blpop +evalsha '~batch:*' '~{batch:*'; do
    least_user "$word"
    hold holder -S "unix://$SERVER/redis.sock" -k "batch:$word"
    redis script flush >/dev/null
    RLOCK_SERVER=$LEAST_URL attempt -q -w 10s -k "batch:$word" -- touch "$T/ran"
    [[ $status == 77 ]] || fail "without $word: $status"
    assert_one_stderr_line 'the server says:'
    case $word in
      # "this user ... one of the keys" became "User NAME ... the 'KEY' key" in Redis 8.
      +evalsha | +blpop) assert_one_stderr_line NOPERM "permissions to run the '${word#+}' command" ;;
      '~'*) assert_one_stderr_line NOPERM 'permissions to access' ;;
      *) assert_stderr_line '; rlock-protocol(7) lists the rights that rlock needs' ;;
    esac
    let_go holder
  done
  [[ ! -e $T/ran ]]
}

@test "the rights of some commands: list scans, --sync-replicas waits, another database is selected" {
  local port master
  port=$(free_port)
  own_server --bind 127.0.0.1 --port "$port" --repl-diskless-sync-delay 0
  master=$SERVER
  own_server --replicaof "127.0.0.1 $port"
  wait_until replica_follows
  use_server "$master"
  needs scan list
  needs wait --sync-replicas 1 -k batch:wait -- true
  needs select -S "unix://rlock:password@$SERVER/redis.sock?db=1" -k batch:select -- true
}

replica_follows() { [[ $(redis info replication) == *master_link_status:up* ]]; }

# needs RIGHT ARG...: one line and 77 without it, success with it.
needs() {
  local right=$1
  shift
  least_user
  RLOCK_SERVER=$LEAST_URL attempt "$@"
  assert_equal "$status" 77
  assert_one_stderr_line NOPERM "$right"
  least_user '' "+$right"
  RLOCK_SERVER=$LEAST_URL attempt "$@"
  assert_success
}

@test "the memory of runs takes six words more, which the page has; without them all else works" {
  local words
  words=$(sed -n '/^The memory of runs needs/{n;p;}' "$REPO/man/rlock-protocol.7" | grep -o '+[a-z]*' | paste -sd' ')
  [[ $words == '+lpush '* ]]
  least_user
  attempt -S "$LEAST_URL" -k batch:remembered -- sh -c 'exit 3'
  assert_equal "$status" 3
  assert_equal "$(json 'd["locks"]' log -S "$LEAST_URL" --json batch:remembered)" '[]'
  least_user '' "$words"
  attempt -S "$LEAST_URL" -k batch:remembered -- sh -c 'exit 3'
  assert_equal "$(json 'd["locks"][0]["runs"][0]["exit_code"]' log -S "$LEAST_URL" --json batch:remembered)" 3
}
