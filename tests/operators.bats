#!/usr/bin/env bats
# inspect and list: who holds, who waits, as tables and as JSON.
load lib/rlock

# json FILTER ARG...: what rlock ARG... prints, through jq or Python's reader.
json() {
  local expression=$1
  shift
  rlock "$@" | "$PYTHON" -c '
import json, sys
d = json.load(sys.stdin)
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))' "$expression"
}

@test "inspect of a free lock" {
  run rlock inspect "$K"
  assert_success
  assert_line --regexp "^key +$K$"
  assert_line --regexp '^state +free'
  run rlock inspect "$K" --quiet
  assert_equal "$status" 1
  assert_output ''
}

@test "inspect of a held lock: token, holder, since, until, fence, who waits" {
  local token
  hold holder -k "$K" --label nightly
  token=$(redis get "$K")
  start waiter -k "$K" -q -w 60s --label later -- true
  wait_queued "$K" 1
  run rlock inspect "$K"
  assert_success
  assert_line --regexp "^key +$K$"
  assert_line --regexp '^state +held'
  assert_line --regexp "^holder +.*$(id -un)@$(hostname).*nightly"
  assert_line --regexp "^token +$token"
  assert_line --regexp '^since '
  assert_line --regexp '^until '
  assert_line --regexp "^fence +$(fence "$K")"
  assert_line --regexp '^waiting +.*'
  assert_output --partial later
  run rlock inspect "$K" -q
  assert_success
  assert_output ''
  let_go holder
  finish waiter
}

@test "inspect --json of a held lock" {
  hold holder -k "$K" --label nightly -t 30s
  start waiter -k "$K" -q -w 60s --label later -- true
  wait_queued "$K" 1
  assert_equal "$(json 'd["key"]' inspect "$K" --json)" "$K"
  assert_equal "$(json 'd["state"]' inspect "$K" --json)" held
  assert_equal "$(json 'd["holder"]["token"]' inspect "$K" --json)" "$(redis get "$K")"
  assert_equal "$(json '[d["holder"][n] for n in ("user", "host", "pid", "label", "foreign")]' inspect "$K" --json)" \
    "[\"$(id -un)\", \"$(hostname)\", ${PIDS[holder]}, \"nightly\", false]"
  assert_equal "$(json '0 <= d["held_ms"] < 20000 and 0 < d["ttl_ms"] <= 30000' inspect "$K" --json)" true
  assert_equal "$(json 'd["fence"]' inspect "$K" --json)" "$(fence "$K")"
  assert_equal "$(json '[(w["label"], w["pid"], w["foreign"], w["waiting_ms"] >= 0) for w in d["waiters"]]' inspect "$K" --json)" \
    "[[\"later\", ${PIDS[waiter]}, false, true]]"
  let_go holder
  finish waiter
}

@test "inspect --json of a free lock has nulls and no waiters" {
  assert_equal "$(json '[d["state"], d["holder"], d["held_ms"], d["ttl_ms"], d["fence"], d["waiters"]]' inspect "$K" --json)" \
    '["free", null, null, null, null, []]'
  rlock -k "$K" -- true
  assert_equal "$(json 'd["fence"]' inspect "$K" --json)" "$(fence "$K")"
}

@test "inspect --json --quiet prints nothing" {
  run rlock inspect "$K" --json -q
  assert_equal "$status" 1
  assert_output ''
}

@test "inspect of a foreign holder, with and without expiry, of any type" {
  redis set "$K" redlock-token px 60000
  run rlock inspect "$K"
  assert_success
  assert_line --regexp '^state +held'
  assert_output --partial redlock-token
  assert_equal "$(json '[d["holder"]["token"], d["holder"]["foreign"], d["holder"]["user"], d["held_ms"]]' inspect "$K" --json)" \
    '["redlock-token", true, null, null]'
  redis persist "$K"
  assert_equal "$(json 'd["ttl_ms"]' inspect "$K" --json)" null
  redis del "$K"
  redis hset "$K" field value
  run rlock inspect "$K"
  assert_success
  assert_line --regexp '^state +held'
  assert_equal "$(json '[d["state"], d["holder"]["foreign"]]' inspect "$K" --json)" '["held", true]'
  run rlock inspect "$K" -q
  assert_success
}

@test "a token that another client shaped almost like ours is foreign and whole" {
  redis set "$K" 'user@host:notapid/label#abc' px 60000
  assert_equal "$(json '[d["holder"]["token"], d["holder"]["foreign"]]' inspect "$K" --json)" \
    '["user@host:notapid/label#abc", true]'
}

@test "inspect of a reserved lock: somebody was woken and has not come yet" {
  hold holder -k "$K"
  start waiter -k "$K" -q -w 60s --label sleepy -- true
  wait_queued "$K" 1
  kill -STOP "${PIDS[waiter]}"
  let_go holder
  assert_equal "$(json 'd["state"]' inspect "$K" --json)" reserved
  kill -CONT "${PIDS[waiter]}"
  finish waiter
  assert_success
}

@test "inspect changes nothing on the server" {
  own_server
  hold holder -k "$K"
  watch_wire "$T/wire"
  wire_mark "$T/wire" a
  rlock inspect "$K" >/dev/null
  rlock list >/dev/null
  wire_mark "$T/wire" b
  end_watching
  run sed -n '/mark-a/,/mark-b/p' "$T/wire"
  refute_output --regexp '"(SET|DEL|PEXPIRE|ZADD|ZREM|RPUSH|set|del|pexpire|zadd|zrem|rpush)"'
  let_go holder
}

@test "list shows what is held or waited for, with a pattern too" {
  own_server
  rlock -k forgotten -- true # leaves a fence and is not listed
  hold one -k batch:one
  hold two -k batch:two
  start waiter -k batch:two -q -w 60s -- true
  wait_queued batch:two 1
  hold other -k other
  run rlock list
  assert_success
  assert_output --partial batch:one
  assert_output --partial batch:two
  assert_output --partial other
  refute_output --partial forgotten
  assert_equal "$(json '[(l["key"], l["state"], len(l["waiters"])) for l in d["locks"]]' list --json)" \
    '[["batch:one", "held", 0], ["batch:two", "held", 1], ["other", "held", 0]]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list 'batch:*' --json)" '["batch:one", "batch:two"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list 'batch:t[a-w]o' --json)" '["batch:two"]'
  assert_equal "$(json 'd' list 'nosuch*' --json)" '{"locks": []}'
  run rlock list 'nosuch*'
  assert_success
  let_go one
  let_go two
  let_go other
  finish waiter
}

@test "list finds keys with tags and odd names" {
  local key keys=('{tag}job' 'x{tag}y' 'a}b' 'x{}y' '{}x' 'with blank' 'q"uote' 'b\ackslash' 'k:rlock:fence' '*' '[x]' 'ü')
  local number=0
  own_server
  for key in "${keys[@]}"; do
    number=$((number + 1))
    hold "holder-$number" -k "$key"
  done
  run json '"\n".join(l["key"] for l in d["locks"])' list --json
  assert_equal "$output" "$(printf '%s\n' "${keys[@]}" | sort)"
  number=0
  for key in "${keys[@]}"; do
    number=$((number + 1))
    assert_equal "$(json 'd["state"]' inspect "$key" --json)" held
    let_go "holder-$number"
    assert_success
    free "$key"
  done
}

@test "a thousand other keys do not hide a lock" {
  own_server
  redis eval 'for i = 1, 1000 do redis.call("set", "filler" .. i, i) end' 0
  hold holder -k needle
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json)" '["needle"]'
  let_go holder
}

@test "control characters and broken UTF-8 never reach the terminal raw, and JSON stays valid" {
  local key
  own_server
  key=$'evil\e[31m\nkey\x01\xff"\\'
  hold holder -k "$key"
  redis -x set foreign <<<$'\e]0;title\a\xfe\r'
  run rlock list
  assert_success
  [[ $output != *$'\e'* && $output != *$'\x01'* && $output != *$'\a'* ]]
  run rlock inspect "$key"
  assert_success
  [[ $output != *$'\e'* && $output != *$'\x01'* ]]
  run rlock inspect foreign
  [[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\r'* ]]
  json 'd["key"]' inspect "$key" --json >/dev/null
  json 'd["holder"]["token"]' inspect foreign --json >/dev/null
  json 'd["locks"][0]["key"]' list --json >/dev/null
  let_go holder
}
