#!/usr/bin/env bats
# list: every lock that is held or waited for, whatever its name.
load ../lib/rlock

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
  local key keys=('{tag}job' 'x{tag}y' 'a}b' '{x}' 'x' 'x}{' '{x}.' '{x}{}' 'x{}y' '{}x' 'with blank' 'q"uote' 'b\ackslash' 'k:rlock:fence' '*' '[x]' 'ü')
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

# copies NUMBER: as many locks, lock:1 and so on, held by the token that holds `template`.
copies() {
  local number=$1
  # shellcheck disable=SC2016 # it is Lua
  redis eval 'for n = 1, ARGV[1] do
      local of = "{lock:" .. n .. "}:rlock:"
      redis.call("restore", "lock:" .. n, 60000, redis.call("dump", "template"))
      redis.call("restore", of .. "fence", 60000, redis.call("dump", "{template}:rlock:fence"))
      redis.call("restore", of .. "runs", 60000, redis.call("dump", "{template}:rlock:runs"))
    end' 0 "$number"
}

@test "a list of many locks on a server that is far away takes few round trips" {
  local start took
  own_server
  hold template -k template
  copies 200
  start_proxy
  proxy delay 25 # 200 round trips would take 5 s
  start=$(now_ms)
  run rlock list --json
  took=$(($(now_ms) - start))
  assert_success
  assert_equal "$(jq '[.locks[] | select(.holders | length == 1)] | length' <<<"$output")" 201
  assert_less "$took" 2500
  stop_proxy
  let_go template
}

# requests: how often the server has read; commands that come together are one.
requests() { redis info stats | sed -n 's/^total_reads_processed:\([0-9]*\).*/\1/p'; }

@test "locks with long queues are asked about one at a time: the server answers others in between" {
  local before
  own_server
  # shellcheck disable=SC2016 # it is Lua
  redis eval 'for lock = 1, 12 do
      local of = "{crowd" .. lock .. "}:rlock:"
      for waiter = 1, 1000 do
        local token = "user@host:" .. waiter .. "/job#" .. string.format("%040d", waiter)
        redis.call("zadd", of .. "queue", waiter, token)
        redis.call("zadd", of .. "alive", 9e15, token)
      end
    end' 0
  before=$(requests)
  run rlock list --json
  assert_success
  assert_equal "$(jq '[.locks[].waiters | length] | add' <<<"$output")" 12000
  assert_less 16 "$(($(requests) - before))" # 20; in portions they would be 12
}

@test "a lock costs the server no call for each waiter, living or dead" {
  own_server
  # shellcheck disable=SC2016 # it is Lua
  redis eval 'for waiter = 1, 1000 do
      local token = "user@host:" .. waiter .. "/job#" .. string.format("%040d", waiter)
      redis.call("zadd", "{crowd}:rlock:queue", waiter, token)
      redis.call("zadd", "{crowd}:rlock:alive", waiter % 2 == 0 and 9e15 or 1000, token)
    end' 0
  redis config resetstat
  run rlock list --json
  assert_success
  assert_equal "$(jq '[.locks[].waiters | length] | add' <<<"$output")" 500
  run redis info commandstats
  assert_less "$(awk -F'[=,]' '/^cmdstat/ { sum += $2 } END { print sum }' <<<"$output")" 100
}

@test "a list of a server that knows none of the scripts is whole" {
  own_server
  hold template -k template
  copies 40
  redis script flush
  run rlock list --json
  assert_equal "$(jq -r '.locks[].key' <<<"$output" | sort -u | wc -l)" 41
  let_go template
}

@test "a list that the server breaks off is an error, and no list" {
  own_server
  hold template -k template
  copies 40
  rlock list >/dev/null # it knows the script
  start_proxy
  proxy drop-reply EVALSHA
  attempt list
  assert_equal "$status" 69
  assert_output ''
  attempt list
  assert_success
  assert_equal "${#lines[@]}" 42
  stop_proxy
  let_go template
}

@test "a lock of which the server has nonsense is named as missing, and hides no other" {
  own_server
  hold good -k good
  hold another -k zebra
  redis set "$(companion bad queue)" x
  # shellcheck disable=SC2016 # it is Lua
  redis eval 'redis.call("set", "large", string.rep("x", 20000000)); redis.call("set", KEYS[1], "5 x")' 1 \
    "$(companion large fence)"
  attempt list --json
  assert_equal "$status" 69
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" $'good\nzebra'
  assert_one_stderr_line "this is not all: the lock 'large': "
  redis del large
  attempt list --json
  assert_one_stderr_line "this is not all: the lock 'bad': the server says: WRONGTYPE "
  attempt metrics
  assert_equal "$status" 69
  assert_output ''
  let_go good
  let_go another
}

@test "a lock that the user may not read is named as missing, and hides no other" {
  own_server
  redis acl setuser some on nopass +@all '~app*' '~{app*' >/dev/null
  hold mine -k app
  hold zebra -k zebra
  hold yours -k yours
  attempt list --json -S "unix://some:@$SERVER/redis.sock"
  assert_equal "$status" 77
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" app
  assert_one_stderr_line "this is not all: the lock 'zebra': the server says: NOPERM " '; and 1 more'
  for each in mine zebra yours; do let_go "$each"; done
}

@test "a waiter with an impossible number of permits is shown" {
  local now number
  now=$(now_ms)
  hold holder -k "$K"
  attempt -k "$K.before" -- true # a run, so that a wait is reckoned
  for number in 0 99999999999999999999; do
    redis zadd "$(companion "$K" queue)" "${now}000" "permits=$number w@h:1/z#1111111111111111111111111111111111111111"
    redis zadd "$(companion "$K" alive)" 9e15 "permits=$number w@h:1/z#1111111111111111111111111111111111111111"
  done
  redis rpush "$(companion "$K" runs)" "5	t	$((now - 90000))	0			$((now - 10000))	exited 0	"
  attempt inspect "$K"
  assert_success
  attempt list --json "$K"
  assert_success
  assert_equal "$(jq '.locks[0].waiters | length' <<<"$output")" 2
  redis del "$(companion "$K" queue)" "$(companion "$K" alive)"
  let_go holder
}

@test "a key of another lock is no lock of a list" {
  own_server
  hold good -k good
  redis set "$(companion '{a}:rlock:queue' fence)" '5 x'
  redis script flush
  attempt list --json
  assert_success
  assert_equal "$(jq -r '.locks[].key' <<<"$output")" good
  let_go good
}

@test "a list that loses its connection between two pages begins again" {
  own_server
  hold template -k template
  copies 2000
  rlock list >/dev/null # it knows the script
  start_proxy
  proxy drop-nth 4
  attempt list --json
  assert_success
  assert_equal "$(jq '.locks | length' <<<"$output")" 2001
  stop_proxy
  let_go template
}

@test "the log of many locks is as quick as their list" {
  local start took
  own_server
  hold template -k template
  copies 8000
  start=$(now_ms)
  rlock list >/dev/null
  took=$(($(now_ms) - start))
  start=$(now_ms)
  rlock log 'lock:*' >"$T/log"
  assert_less "$(($(now_ms) - start))" "$((3 * took + 500))"
  assert_equal "$(wc -l <"$T/log")" 8001
  let_go template
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

@test "a pattern that matches nothing is said to match nothing" {
  hold holder -k "$K"
  attempt list 'nomatch*'
  assert_success
  assert_output ''
  assert_one_stderr_line "no lock that matches 'nomatch*'"
  let_go holder
}

@test "several patterns list what matches any of them, once" {
  own_server
  hold one -k batch:one
  hold two -k deploy:two
  hold other -k other
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json 'deploy:*' 'batch:*' '*:one')" '["batch:one", "deploy:two"]'
  attempt list 'nosuch' 'x*'
  assert_one_stderr_line "no lock that matches 'nosuch' or 'x*' is held"
  let_go one
  let_go two
  let_go other
}

@test "--host and --user choose by who holds or waits" {
  local host
  own_server
  host=$(hostname)
  hold mine -k mine
  redis set theirs "app@elsewhere:7/job#0123456789012345678901234567890123456789" px 60000
  start waiter -k theirs -q -w 60s -- true
  wait_queued theirs 1
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --host elsewhere)" '["theirs"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --user app)" '["theirs"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --host "$host")" '["mine", "theirs"]' # it waits there
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --host "$host" --user app)" '[]'
  attempt list --host nowhere
  assert_one_stderr_line "no lock on host 'nowhere' is held"
  signal TERM waiter
  finish waiter
  let_go mine
}

@test "--sort is by key, age, ttl or waiting" {
  own_server
  hold a -k a -t 50s
  hold b -k b -t 20s
  hold c -k c -t 90s
  start waiter -k b -q -w 60s -- true
  wait_queued b 1
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json)" '["a", "b", "c"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --sort age)" '["a", "b", "c"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --sort ttl)" '["b", "a", "c"]'
  assert_equal "$(json '[l["key"] for l in d["locks"]]' list --json --sort waiting)" '["b", "a", "c"]'
  attempt list --sort size
  assert_equal "$status" 64
  assert_one_stderr_line "--sort: 'size' is not valid; expected key, age, ttl or waiting"
  let_go a
  let_go b
  let_go c
  finish waiter
}

@test "into a pipe a list has no colour and is not cut, unless --color=always" {
  own_server
  K=$(printf 'a-long-key-%.0s' {1..20})
  hold holder -k "$K"
  run rlock list
  assert_line --regexp "^$K  held "
  [[ $output != *$'\e'* ]]
  run rlock list --color=always
  [[ $output == *$'\e[33mheld\e[0m'* ]]
  attempt list --color=mauve
  assert_equal "$status" 64
  let_go holder
}

@test "--watch is for terminals, and not for JSON" {
  attempt list --watch
  assert_equal "$status" 64
  assert_one_stderr_line 'stdout is not'
  attempt list --watch --json
  assert_equal "$status" 64
}
