#!/usr/bin/env bats
# Names that obey a terminal, that lie, that are no text, or a megabyte: as other clients put them on the server, and
# as users give them. None reaches a terminal raw, none breaks JSON.
load ../lib/rlock
load ../lib/hostile

# An escape that sets the title, colours, a C1 control in UTF-8 and raw, an override of the direction, broken UTF-8,
# a line's end and what looks like an escape already, and a quote.
NASTY=$'\e]0;pwned\a\e[31m\xc2\x9b31m\x9b\xe2\x80\xaegnp.exe\xff\xfe\n\r\t\\x41"\'\x7f'
NONCE=0123456789abcdef0123456789abcdef01234567

megabyte() {
  local piece=$1
  "$PYTHON" -c 'import os, sys; p = os.fsencode(sys.argv[1]); sys.stdout.buffer.write(p * (1000000 // len(p) + 1))' "$piece"
}

# ask_everything: all that shows a lock; into $T/NAME.out and .err.
ask_everything() {
  local name
  local -A questions=(
    [busy]="-k $K -- true" [wait]="-k $K -w 1s -- true" [status]="-k $K --status-file $T/status.json -- true"
    [inspect]="inspect $K" [json]="inspect --json $K" [list]="list" [list-json]="list --json"
    [cancel]="cancel --wait 0 $K" [verbose]="-v -k $K -- true" [check]="check -k $K --token other")
  for name in "${!questions[@]}"; do
    read -ra words <<<"${questions[$name]}"
    rlock "${words[@]}" >"$T/$name.out" 2>"$T/$name.err" || true
  done
  assert_clean "$T"/*.out "$T"/*.err
  "$PYTHON" -c '
import json, sys
for path in sys.argv[1:]:
    text = open(path, "rb").read()
    assert text.isascii(), path
    json.loads(text)' "$T/json.out" "$T/list-json.out" "$T/status.json"
  # A line has a limit, so that nobody has to read a novel.
  run awk 'length($0) > 5000 { print FILENAME ": " length($0) }' "$T"/{busy,wait,inspect,list,cancel,verbose,check}.{out,err}
  assert_output ''
}

@test "the value of the key" {
  local value
  for value in "$NASTY" "u@h:1/$NASTY#$NONCE" "$NASTY@$NASTY:7/x#$NONCE" "rlock:shared" ''; do
    printf %s "$value" | redis -x set "$K" >/dev/null
    ask_everything
  done
  rlock force-release --yes --wait 0 "$K" >"$T/force.out" 2>"$T/force.err" || true
  assert_clean "$T"/force.*
}

@test "the value of the key, a megabyte of it" {
  megabyte "$NASTY" | redis -x set "$K"
  ask_everything
  { printf 'u@h:1/'; megabyte "$NASTY"; printf '#%s' "$NONCE"; } | redis -x set "$K"
  ask_everything
  rlock force-release --yes --wait 0 "$K" >"$T/force.out" 2>"$T/force.err"
  assert_clean "$T"/force.*
  wait_free "$K"
}

@test "keys of a megabyte, one of them with companions" {
  own_server
  hold holder -k "$K"
  # shellcheck disable=SC2016
  megabyte "$NASTY" | redis -x eval 'redis.call("SET", ARGV[1], "u@h:1/x#'$NONCE'", "PX", 60000)
    for _, suffix in ipairs({"fence", "queue", "alive"}) do
      redis.call("SET", "{" .. ARGV[1] .. "}:rlock:" .. suffix, "7 u@h:1/x#'$NONCE'", "PX", 60000)
    end' 0
  assert_equal "$(redis dbsize)" 7
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json)" "[\"$K\"]"
  ask_everything
  finish holder # it was also asked to stop
}

@test "waiters and companion keys with hostile names" {
  local now name
  own_server
  now=$(now_ms)
  redis set "$K" holder px 60000
  printf %s "$NASTY" | redis -x set "$(companion "$K" fence)"
  for name in "$NASTY" "shared $NASTY" "permits=99999999999 $NASTY" "permits= $NASTY" "$(megabyte x | head -c 100000)"; do
    redis zadd "$(companion "$K" queue)" "$((now * 1000))" "$name"
    redis zadd "$(companion "$K" alive)" "$((now + 600000))" "$name"
  done
  ask_everything
  redis zadd "$(companion "$K" queue)" inf endless
  redis zadd "$(companion "$K" alive)" "$((now + 600000))" endless
  ask_everything
}

@test "messages with hostile bytes in a mailbox" {
  hold holder -k "$K" --label holder
  sleep 1.2 # it has a mailbox by now
  printf 'stop - %s' "$NASTY" | redis -x rpush "$(companion "$K" mail):$(redis get "$K")"
  finish holder
  assert_stderr_line pwned
  hold holder -k "$K"
  start waiter -k "$K" -w 20s -- true
  wait_queued "$K" 1
  printf 'stop - %s' "$NASTY" | redis -x rpush "$(companion "$K" mail):$(redis zrange "$(companion "$K" queue)" 0 0)"
  finish waiter
  assert_stderr_line pwned
  assert_clean "$T"/*.err "$T"/*.out
  let_go holder
}

@test "an expiry beyond all reckoning" {
  redis set "$K" other px 9000000000000000000
  ask_everything
  assert_equal "$(json 'd["ttl_ms"]' inspect --json "$K")" 3153600000000
}

@test "keys, tokens, URLs, files, commands and variables that users give" {
  local -a words
  local name
  for name in "$NASTY" "$(megabyte "$NASTY" | head -c 100000)"; do
    attempt_clean -k "$name" -- true
    attempt_clean -k "$K" --label "$name" -- true
    attempt_clean -k "$K" -- "$name"
    attempt_clean -k "$K" "--$name" -- true
    attempt_clean "$name"
    attempt_clean inspect "$name"
    attempt_clean list "$name"
    attempt_clean check -k "$K" --token "$name"
    attempt_clean release -k "$K" --token "$name"
    attempt_clean force-release --yes --token "$name" "$K"
    attempt_clean -S "$name" -k "$K" -- true
    attempt_clean -S "redis://127.0.0.1:1/$name" -k "$K" -- true
    attempt_clean -S "redis://$name" -k "$K" -- true
    attempt_clean -S "unix://$name" -k "$K" -- true
    attempt_clean -S "unix:///$name" -k "$K" -- true
    attempt_clean -S "file:///dev/null/$name" -k "$K" -- true
    attempt_clean -S "zk://$name" -k "$K" -t 1s -- true
    attempt_clean -S "redis+sentinel://127.0.0.1:1/$name" -k "$K" -- true
    attempt_clean -S "rediss://127.0.0.1:1?cacert=$name" -k "$K" -- true
    attempt_clean --config "$name" -k "$K" -- true
    attempt_clean --password-file "$name" -k "$K" -- true
    attempt_clean --status-file "$T/none/$name" -k "$K" -- true
    RLOCK_TTL=$name attempt_clean -k "$K" -- true
    RLOCK_SERVER=$name attempt_clean -k "$K" -- true
    RLOCK_HELD=1 RLOCK_HOLDS="$name"$'\t'"$RLOCK_SERVER"$'\t'"$K" attempt_clean -k "$K" -- true
    printf '%s = x\n' "$name" >"$T/config"
    attempt_clean --config "$T/config" -k "$K" -- true
    printf 'ttl = %s\n' "$name" >"$T/config"
    attempt_clean --config "$T/config" -k "$K" -- true
  done
}

# attempt_clean ARG...: whatever comes of it, stderr and stdout are clean, and of a size that one can read.
attempt_clean() {
  attempt "$@"
  assert_clean "$T/attempt.err" "$T/attempt.out"
  assert_less "$(wc -c <"$T/attempt.err")" 20000
}

@test "at a terminal: the status line, and what force-release asks" {
  printf %s "u@h:1/$NASTY#$NONCE" | redis -x set "$K"
  redis pexpire "$K" 60000
  in_terminal 'expect pwned' 'send \x03' -- "$RLOCK_BIN" -k "$K" -w 20s -- true >"$T/seen.wait" || true
  in_terminal 'expect pwned' 'send no\r' -- "$RLOCK_BIN" force-release "$K" >"$T/seen.force" || true
  # Ours are: the line's start and its wiping, and the terminal's own echo of ^C.
  sed -i -e $'s/\r\e\\[K//g' -e $'s/\r*$//' "$T"/seen.*
  assert_clean "$T"/seen.*
}

@test "a ledger in which somebody wrote" {
  local place=$T/locks/key
  export RLOCK_SERVER=file://$T/locks
  K=key
  mkdir -p "$place"
  printf '%s' "$NASTY" >"$place/ledger"
  printf '0 1 18446744073709551615\n%s' "u@h:1/$NASTY#$NONCE" >"$place/00000000000000000001.who"
  printf '77 18446744073709551615 18446744073709551615\n' >"$place/00000000000000000001.grant"
  ask_everything
  attempt -k "$K" -- true
  assert_equal "$status" 75
  printf '0 1 1\nx' >"$place/18446744073709551614.who"
  printf '%s' "$NASTY" >"$place/$NASTY"
  ask_everything
}

cancelled_or_gone() {
  rlock cancel --wait 1s "$K" || gone "${PIDS[holder]}"
}

@test "a flood into a holder's pipe costs no memory, and no word gets lost behind it" {
  export RLOCK_SERVER=file://$T/locks
  hold holder -k "$K"
  launch flood bash -c 'exec tr "\0" x </dev/zero >"$1"/*/00000000000000000001' flood "$T/locks"
  launch lines bash -c 'exec yes >"$1"/*/00000000000000000001' lines "$T/locks"
  sleep 1 # of both
  assert_less "$(peak_of holder)" "$(memory_bar)"
  kill "${PIDS[flood]}" "${PIDS[lines]}"
  wait_until gone "${PIDS[flood]}"
  wait_until gone "${PIDS[lines]}"
  wait_until cancelled_or_gone # to a pipe that is still full nothing can be said
  finish holder
  assert_equal "$status" 76
}
