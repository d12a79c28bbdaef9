#!/usr/bin/env bats
# At most N at once.
load ../lib/rlock

permit() {
  local name=$1
  shift
  hold "$name" -k "$K" --permits 2 "$@"
}

@test "as many as there are permits run together, and one more is busy" {
  permit one
  permit two
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  assert_equal "$(redis get "$K")" rlock:permits=2
  let_go one
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_success
  let_go two
  free "$K"
}

@test "twelve jobs with three permits: never more than three, and three at some time" {
  local number most=0 now=0 mark
  for number in {1..12}; do
    start "job-$number" -q -k "$K" --permits 3 -w 60s -- \
      sh -c "echo + >>'$T/record'; sleep 0.2; echo - >>'$T/record'"
  done
  for number in {1..12}; do
    finish "job-$number"
    assert_success
  done
  while read -r mark; do
    if [[ $mark == + ]]; then ((++now)); else ((now--)); fi
    ((now <= 3)) || fail "$now at once"
    most=$((now > most ? now : most))
  done <"$T/record"
  assert_equal "$most" 3
  line_count_is "$T/record" 24
}

@test "permits are given in the order of the queue" {
  local number
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  for number in {1..8}; do
    queue_up "waiter-$number" "$K" "$number" -q --permits 2 -- sh -c "echo \$RLOCK_FENCE $number >>'$T/order'; sleep 0.05"
  done
  touch "$T/one.go" "$T/two.go"
  for number in {1..8}; do finish "waiter-$number"; done
  finish one
  finish two
  # Two start at the same time, so neighbours may write in either order; the fence tells who was granted first.
  assert_equal "$(sort -n "$T/order" | cut -d' ' -f2 | paste -sd' ')" '1 2 3 4 5 6 7 8'
}

@test "a killed holder's permit comes free after its lease, and only that one" {
  permit one --ttl 4s
  permit two
  queue_up three "$K" 1 --permits 2 -- "$LIB/until-file" "$T/three.go"
  signal KILL one
  wait_until says "$T/three.out" started
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 75
  let_go three
  let_go two
  finish one
}

@test "a killed waiter at the head delays those behind it by a claim at most" {
  local before
  permit one
  permit two
  queue_up dead "$K" 1 --permits 2 -- touch "$T/ran"
  queue_up alive "$K" 2 --permits 2 -- echo ran
  signal KILL dead
  before=$(now_ms)
  let_go one
  finish alive
  assert_success
  assert_less $(($(now_ms) - before)) 10000 # a heartbeat takes 12 s, the lease 30 s
  [[ ! -e $T/ran ]]
  let_go two
  finish dead
}

@test "another number of permits is an error that names the holder" {
  permit one
  attempt -k "$K" --permits 3 -w 10s -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "'$K' is used with --permits 2 by $(id -un)@" 'but this run says --permits 3'
  attempt -k "$K" -w 10s -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line 'this run says --exclusive'
  attempt -k "$K" -s -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
  let_go one
}

@test "permits where the key is a plain lock are an error, also while others only wait" {
  hold writer -k "$K"
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "'$K' is used as a reader/writer lock by"
  let_go writer
  redis set "$K" foreign px 60000
  queue_up waiter "$K" 1 -- true
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
  redis del "$K"
  finish waiter
}

@test "once the key is unused, it may be used in another mode" {
  attempt -k "$K" --permits 2 -- true
  assert_success
  attempt -k "$K" --permits 3 -- true
  assert_success
  attempt -k "$K" -s -- true
  assert_success
  attempt -k "$K" -- true
  assert_success
}

@test "--permits 1 is a plain lock" {
  hold one -k "$K" --permits 1
  [[ $(redis get "$K") == "$(id -un)@"* ]]
  attempt -k "$K" -- true
  assert_equal "$status" 75
  let_go one
}

# holds_permit NAME NUMBER [RLOCK OPTION...]: a holder that was told that number.
holds_permit() {
  local name=$1 number=$2
  shift 2
  rm -f "$T/$name.go"
  # shellcheck disable=SC2016
  start "$name" -k "$K" "$@" -- sh -c 'echo "permit=$RLOCK_PERMIT resource=${RLOCK_RESOURCE-none}."; exec "$LIB/until-file" "$0"' "$T/$name.go"
  wait_until says "$T/$name.out" started
  says "$T/$name.out" "permit=$number " || fail "$name: $(<"$T/$name.out")"
}

@test "each has the lowest number that is free, and gives it back with the permit" {
  holds_permit one 1 --permits 3
  holds_permit two 2 --permits 3
  holds_permit three 3 --permits 3
  says "$T/one.out" 'resource=none.'
  let_go two
  holds_permit four 2 --permits 3
  let_go one
  let_go three
  holds_permit five 1 --permits 3
  holds_permit six 3 --permits 3
  assert_equal "$(json '[[h["pid"], h["permit"], h["resource"]] for h in d["holders"]]' inspect --json "$K")" \
    "[[${PIDS[four]}, 2, null], [${PIDS[five]}, 1, null], [${PIDS[six]}, 3, null]]"
  let_go four
  let_go five
  let_go six
  free "$K"
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo "${RLOCK_PERMIT-none}"'
  assert_output none
}

@test "the number of one that was killed comes free with its lease, and no sooner" {
  holds_permit dead 1 --permits 2 --ttl 4s
  holds_permit other 2 --permits 2
  start next -k "$K" -w 60s --permits 2 -- sh -c 'echo "permit=$RLOCK_PERMIT"'
  signal KILL dead
  finish dead
  finish next
  assert_success
  assert_output 'permit=1'
  let_go other
}

@test "a question that is asked again, because its answer was lost, has the same number" {
  own_server
  holds_permit one 1 --permits 3
  start_proxy
  proxy swallow-reply EVAL
  start two -k "$K" --permits 3 -w 60s -- sh -c 'echo "permit=$RLOCK_PERMIT"'
  wait_until says "$T/proxy.log" swallowed
  proxy reset
  finish two
  assert_success
  assert_output 'permit=2'
  stop_proxy
  let_go one
}

@test "--min-hold keeps the number taken as long as the permit" {
  attempt -k "$K" --permits 2 --min-hold 60s -- true
  assert_success
  holds_permit two 2 --permits 2
  let_go two
}

# As a client of the version before would: it takes no number, and leaves that of a holder whose end it sees.
an_earlier_client_holds() {
  local token=$1 permits=$2
  redis set "$K" "rlock:permits=$permits" px 60000 >/dev/null
  redis zadd "$(companion "$K" held)" "$(($(now_ms) + 60000))" "$token" >/dev/null
  redis zadd "$(companion "$K" grants)" "$(now_us)" "$token" >/dev/null
}

an_earlier_client_ends() {
  local token=$1
  redis zrem "$(companion "$K" held)" "$token" >/dev/null
  redis zrem "$(companion "$K" grants)" "$token" >/dev/null
}

@test "beside a client of an earlier version, which takes no number, no number is given twice" {
  an_earlier_client_holds old 3
  holds_permit one 1 --permits 3
  holds_permit two 2 --permits 3
  attempt -k "$K" --permits 3 -- true
  assert_equal "$status" 75
  assert_equal "$(json '[h["permit"] for h in d["holders"]]' inspect --json "$K")" '[null, 1, 2]'
  an_earlier_client_ends old
  holds_permit three 3 --permits 3
  let_go one
  let_go two
  let_go three
}

@test "a number that an earlier version left behind is not lost for ever" {
  local number
  an_earlier_client_holds other 3
  for number in 1 2 3; do
    redis zadd "$(companion "$K" grants)" "$((9007199254740992 + 2 * number))" "permit gone-$number" >/dev/null
  done
  holds_permit one 1 --permits 3
  holds_permit two 2 --permits 3
  let_go one
  let_go two
  an_earlier_client_ends other
}

@test "with more than a thousand numbers the lowest that is free is found" {
  local number held grants ends
  held=$(companion "$K" held) grants=$(companion "$K" grants) ends=$(($(now_ms) + 600000))
  redis set "$K" rlock:permits=3000 px 600000 >/dev/null
  for number in {1..1500}; do
    echo "zadd $held $ends t$number"
    echo "zadd $grants $number t$number"
    ((number == 777)) || echo "zadd $grants $((9007199254740992 + 2 * number)) \"permit t$number\""
  done | redis >/dev/null
  holds_permit one 777 --permits 3000
  holds_permit two 1501 --permits 3000
  let_go one
  let_go two
  redis del "$K" "$held" "$grants" >/dev/null
}

@test "inspect says how many permits there are" {
  permit one
  assert_equal "$(json '[d["mode"], d["permits"]]' inspect --json "$K")" '["permits", 2]'
  attempt inspect "$K"
  assert_line --regexp '^mode +2 permits$'
  let_go one
}

@test "--permits is a number from 1 to 1000000" {
  local text
  for text in 0 -1 x '' 2.5 1000001 ' 2' 99999999999; do
    attempt -k "$K" "--permits=$text" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_one_stderr_line permits
  done
  [[ ! -e $T/ran ]]
}
