#!/usr/bin/env bats
# acquire, refresh, release: a lock for steps that are separate processes.
load ../lib/rlock

# acquire ARG...: TOKEN is the token.
acquire() {
  attempt acquire -k "$K" --ttl 60s "$@"
  TOKEN=$output
}

@test "acquire prints the token and leaves the lock held for the ttl" {
  acquire
  assert_success
  assert_silent
  assert_equal "$(redis get "$K")" "$TOKEN"
  assert_less 50000 "$(redis pttl "$K")"
  assert_less "$(redis pttl "$K")" 60001
}

@test "release frees it and wakes who waits" {
  acquire
  queue_up waiter "$K" 1 -- echo ran
  attempt release -k "$K" --token "$TOKEN"
  assert_success
  finish waiter
  assert_output ran
}

@test "refresh makes it last longer" {
  acquire
  attempt refresh -k "$K" --token "$TOKEN" --ttl 1h
  assert_success
  assert_less 3500000 "$(redis pttl "$K")"
}

@test "release and refresh by another are refused with whose it is, and change nothing" {
  local before verb
  acquire --label theirs
  before=$(redis pexpiretime "$K")
  for verb in release refresh; do
    RLOCK_TTL=5m attempt "$verb" -k "$K" --token other
    assert_equal "$status" 76
    assert_one_stderr_line "this token does not, or no longer, hold '$K'" "held by $(id -un)@" /theirs
  done
  assert_equal "$(redis get "$K")" "$TOKEN"
  assert_equal "$(redis pexpiretime "$K")" "$before"
}

@test "a refresh to less is known to who waits" {
  local token before
  token=$(rlock acquire -k "$K" -t 10m)
  queue_up waiter "$K" 1 -- date +%s%N
  before=$(now_ms)
  attempt refresh -k "$K" --token "$token" -t 1s
  assert_success
  finish waiter
  assert_success
  assert_less $((output / 1000000 - before)) 3000
}

@test "an expired lock is not ours" {
  attempt acquire -k "$K" -w 5s --ttl 100ms
  TOKEN=$output
  wait_free "$K"
  attempt refresh -k "$K" --token "$TOKEN" --ttl 1m
  assert_equal "$status" 76
  assert_one_stderr_line 'it is free'
  attempt release -k "$K" --token "$TOKEN"
  assert_equal "$status" 76
  free "$K"
}

@test "acquire is busy like a run, and waits like one" {
  hold holder -k "$K"
  acquire
  assert_equal "$status" 75
  assert_output ''
  acquire -E 9
  assert_equal "$status" 9
  start waiter acquire -k "$K" --ttl 60s -w 60s
  wait_queued "$K" 1
  let_go holder
  finish waiter
  assert_success
  assert_equal "$(redis get "$K")" "$output"
}

@test "--export is for eval, whatever the key" {
  local key="a 'b\" \$c"
  run bash -c 'eval "$("$RLOCK_BIN" acquire --export -k "$1" --ttl 60s)" && echo "$RLOCK_KEY|$RLOCK_FENCE|$RLOCK_TOKEN" &&
    "$RLOCK_BIN" check && "$RLOCK_BIN" refresh --ttl 2m && "$RLOCK_BIN" release && ! "$RLOCK_BIN" check -q' - "$key"
  assert_success
  [[ ${lines[0]} == "$key|$(fence "$key")|$(id -un)@"* ]]
  free "$key"
}

@test "--export prints no password, and no server that is in the environment already" {
  own_server --requirepass sesame
  unset RLOCK_SERVER
  attempt acquire -S "unix://:sesame@$SERVER/redis.sock" -k "$K" --ttl 60s --export
  assert_success
  assert_output --partial "RLOCK_SERVER=unix://$SERVER/redis.sock"
  refute_output --partial sesame
  RLOCK_SERVER=unix://:sesame@$SERVER/redis.sock attempt acquire -k "$K:b" --ttl 60s --export
  assert_success
  refute_output --partial RLOCK_SERVER
}

@test "--github-output appends lines for later steps" {
  echo before=1 >"$T/github"
  GITHUB_OUTPUT=$T/github acquire --github-output
  assert_success
  assert_output ''
  assert_equal "$(<"$T/github")" "before=1
token=$(redis get "$K")
key=$K
fence=$(fence "$K")"
}

@test "--github-output of several keys uses the form for several lines" {
  local end
  GITHUB_OUTPUT=$T/github attempt acquire -k "$K:a" -k "$K:b" --ttl 60s --github-output
  assert_success
  end=$(sed -n 's/^fences<<//p' "$T/github")
  assert_equal "$(sed -n "/^fences<</,/^$end$/p" "$T/github" | sed '1d;$d')" "$K:a=$(fence "$K:a")
$K:b=$(fence "$K:b")"
  grep -qx 'keys<<.*' "$T/github"
}

@test "--github-output outside GitHub is a usage error" {
  unset GITHUB_OUTPUT
  acquire --github-output
  assert_equal "$status" 64
  assert_one_stderr_line GITHUB_OUTPUT
  free "$K"
  GITHUB_OUTPUT=$T/no/such acquire --github-output
  assert_equal "$status" 64
  free "$K"
}

@test "a token that nobody can be told is given back" {
  status=0
  rlock acquire -k "$K" --ttl 60s >/dev/full 2>"$T/err" || status=$?
  assert_equal "$status" 71
  free "$K"
}

@test "a step without a token is told how to find it, and how to do without" {
  attempt release "$K"
  assert_equal "$status" 64
  assert_one_stderr_line "to see the holder's token: rlock inspect $K, to take the lock away from any holder: rlock force-release $K"
  attempt release 'redis://u:geheim@h'
  assert_equal "$status" 64
  assert_one_stderr_line 'rlock inspect KEY'
  refute grep -q geheim "$T/attempt.err"
}

@test "several keys have one token, and are released by it together" {
  attempt acquire -k "$K:a" -k "$K:b" --ttl 60s
  TOKEN=$output
  assert_equal "$(redis get "$K:a")" "$TOKEN"
  assert_equal "$(redis get "$K:b")" "$TOKEN"
  redis del "$K:a"
  attempt release -k "$K:a" -k "$K:b" --token "$TOKEN"
  assert_equal "$status" 76
  assert_one_stderr_line "this token does not, or no longer, hold '$K:a': it is free"
  free "$K:b"
}

@test "readers and permits can be held by steps as well" {
  local first second
  acquire -s
  first=$TOKEN
  acquire -s
  second=$TOKEN
  attempt refresh -k "$K" --token "$first" --ttl 2m
  assert_success
  attempt release -k "$K" --token "$first"
  assert_success
  attempt release -k "$K" --token "$first"
  assert_equal "$status" 76
  assert_one_stderr_line 'held by'
  attempt release -k "$K" --token "$second"
  assert_success
  free "$K"
  acquire --permits 2
  attempt release -k "$K" --token "$TOKEN"
  assert_success
  free "$K"
}

@test "acquire needs --ttl, from wherever, and so does refresh" {
  attempt acquire -k "$K"
  assert_equal "$status" 64
  assert_one_stderr_line --ttl
  free "$K"
  RLOCK_TTL=60s attempt acquire -k "$K"
  assert_success
  TOKEN=$output
  attempt refresh -k "$K" --token "$TOKEN"
  assert_equal "$status" 64
  assert_one_stderr_line --ttl
}

@test "without a key or a token nothing can be done" {
  local verb
  attempt acquire --ttl 60s
  assert_equal "$status" 64
  assert_one_stderr_line KEY
  for verb in refresh release check; do
    RLOCK_TTL=60s attempt "$verb" --token x
    assert_equal "$status" 64
    assert_one_stderr_line KEY
    RLOCK_TTL=60s attempt "$verb" -k "$K"
    assert_equal "$status" 64
    assert_one_stderr_line token
  done
  attempt acquire -k "$K" --ttl 60s operand
  assert_equal "$status" 64
  free "$K"
}

@test "a killed waiting acquire leaves nothing but its place, which ends" {
  hold holder -k "$K"
  start waiter acquire -k "$K" --ttl 60s -w 60s
  wait_queued "$K" 1
  signal KILL waiter
  finish waiter
  queue_up next "$K" 2 -- echo ran
  let_go holder
  finish next
  assert_output ran
}

@test "no server: 69, for each of them" {
  local verb
  export RLOCK_SERVER=unix://$T/nobody.sock RLOCK_TTL=60s
  for verb in acquire refresh release check; do
    RLOCK_TOKEN=x attempt "$verb" -k "$K"
    assert_equal "$status" 69
    assert_one_stderr_line 'cannot reach'
  done
}

# evaluated OPTION...: what a script does that evals `acquire --export` under set -e.
evaluated() {
  run bash -ec 'eval "$("$RLOCK_BIN" acquire --export "$@" 2>/dev/null)"; touch "$T/went-on"' - "$@"
  [[ ! -e $T/went-on ]]
}

@test "eval of a failed --export fails, so that set -e stops the script" {
  redis set "$K" foreign px 60000
  evaluated -k "$K" --ttl 60s
  assert_equal "$status" 75
  evaluated -k "$K" --ttl 60s -E 9
  assert_equal "$status" 9
  evaluated -k "$K"
  assert_equal "$status" 64
  evaluated -k "$K" --ttl 60s --frobnicate
  assert_equal "$status" 64
  RLOCK_SERVER=unix://$T/nobody.sock evaluated -k "$K" --ttl 60s
  assert_equal "$status" 69
  RLOCK_CONFIG=$T/missing evaluated -k "$K" --ttl 60s
  assert_equal "$status" 78
  run sh -c 'eval "$("$RLOCK_BIN" acquire --export -k "$K" --ttl 60s 2>/dev/null)" || exit; touch "$T/went-on"'
  assert_equal "$status" 75
  run -64 bash -ec 'eval "$("$RLOCK_BIN" --export acquire -k "$K" --ttl never 2>/dev/null)"; touch "$T/went-on"'
  [[ ! -e $T/went-on ]]
}

@test "eval of a failed --export fails also where --conflict-exit-code is 0" {
  hold holder -k "$K"
  run -75 bash -ec 'eval "$("$RLOCK_BIN" acquire -k "$1" -t 1s -E 0 --export 2>"$T/said")"; touch "$T/went-on"' - "$K"
  [[ ! -e $T/went-on ]]
  attempt acquire -k "$K" -t 1s -E 0
  assert_success
  let_go holder
}

@test "a job called acquire --export has its stdout for itself" {
  printf '#!/bin/sh\nexit 3\n' >"$T/acquire"
  chmod +x "$T/acquire"
  PATH=$T:$PATH attempt -k "$K" acquire --export
  assert_equal "$status" 3
  assert_output ''
}

@test "with stdout closed the token would be gone: acquire fails and the lock is free" {
  status=0
  rlock acquire -k "$K" --ttl 60s >&- 2>"$T/err" || status=$?
  assert_equal "$status" 71
  grep -q 'stdout' "$T/err"
  free "$K"
  status=0
  rlock inspect "$K" >&- 2>"$T/err" || status=$?
  assert_equal "$status" 71
}

@test "release in a job does not release the lock of the run around it, unless that is what it says" {
  # As a script does whose own acquire failed.
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c '"$0" release; echo "$?"; "$0" inspect -q "$1" && echo held
    eval "$("$0" acquire --export -k "$1-2" --ttl 1m)" && "$0" release && echo released
    exec "$0" release -k "$1" --token "$2"' "$RLOCK_BIN" "$K" t
  assert_equal "${lines[*]}" '64 held released'
  assert_stderr_line "RLOCK_TOKEN is that of the run around this job, which releases $K at its end"
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c '"$0" release --token "$RLOCK_TOKEN"; echo "$?"' "$RLOCK_BIN"
  assert_output 0
}
