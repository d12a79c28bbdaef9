#!/usr/bin/env bats
# inspect: who holds, since when, who waits, as a table and as JSON.
load ../lib/rlock

@test "inspect of a free lock" {
  run rlock inspect "$K"
  assert_success
  assert_line --regexp "^key +$K$"
  assert_line --regexp '^state +free'
  assert_line 'last run none: the server has never seen this key, or has forgotten it'
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

@test "a label with / # : @ and umlauts is read back whole" {
  local label='a/b#c:d@e Zürich'
  hold holder -k "$K" --label "$label"
  assert_equal "$(json 'd["holder"]["label"]' inspect "$K" --json)" "$label"
  assert_equal "$(json 'd["holder"]["pid"]' inspect "$K" --json)" "${PIDS[holder]}"
  assert_equal "$(json 'd["holder"]["foreign"]' inspect "$K" --json)" false
  let_go holder
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
  reserve holder "$K"
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

@test "a lock whose holder got it after now, as the server's clock went back, is held for an unknown time" {
  local token mode
  own_server
  hold holder -k "$K"
  token=$(redis get "$K")
  redis set "$(companion "$K" fence)" "$(($(now_us) + 3600000000)) $token" >/dev/null
  attempt inspect "$K"
  assert_success
  assert_line --regexp "^since +unknown: the server's clock has gone back$"
  assert_equal "$(json '[d["held_ms"], d["holders"][0]["since"]]' inspect --json "$K")" '[null, null]'
  attempt list "$K"
  assert_line --regexp "^$K +held +- "
  start waiter -k "$K" -w 60s -- true
  wait_until says "$T/waiter.err" waiting
  [[ $(<"$T/waiter.err") != *' for '[0-9]* ]]
  # The waiter has also come after now.
  redis zadd "$(companion "$K" queue)" "$(($(now_us) + 3600000000))" "$(redis zrange "$(companion "$K" queue)" 0 0)" >/dev/null
  attempt inspect "$K"
  assert_line --regexp "^ +1 .*, since unknown: the server's clock has gone back"
  refute_output --partial 'for 0ms'
  assert_equal "$(json '[each["waiting_ms"] for each in d["waiters"]]' inspect --json "$K")" '[null]'
  signal TERM waiter
  finish waiter
  let_go holder
  for mode in --shared '--permits 2'; do
    # shellcheck disable=SC2086
    hold holder -k "$K:$mode" $mode
    redis zadd "$(companion "$K:$mode" grants)" "$(($(now_us) + 3600000000))" \
      "$(redis zrange "$(companion "$K:$mode" grants)" 0 0)" >/dev/null
    assert_equal "$(json '[d["held_ms"], d["holders"][0]["since"]]' inspect --json "$K:$mode")" '[null, null]'
    let_go holder
  done
}
