#!/usr/bin/env bats
# --slot: a run once for each, spares that take over, one outcome for all.
load ../lib/rlock

# told: what a job is told of its slot.
told='echo "$RLOCK_SLOT $RLOCK_ATTEMPT"'

@test "the first run does it, later ones find it done and exit 0 silently" {
  attempt -k "$K" --slot 2026-11-24 -- sh -c "$told"
  assert_success
  assert_output '2026-11-24 1'
  attempt -k "$K" --slot 2026-11-24 -- touch "$T/ran"
  assert_success
  assert_silent
  attempt -k "$K" --slot 2026-11-24 -w 10s -v -- touch "$T/ran"
  assert_success
  assert_stderr_line "'$K' is done for the slot '2026-11-24': exit 0, "
  [[ ! -e $T/ran ]]
  attempt -k "$K" --slot 2026-11-25 -- sh -c "$told"
  assert_output '2026-11-25 1'
}

@test "a failed run also ends it; with --share the others exit as it did" {
  attempt -k "$K" --slot one -- sh -c 'exit 7'
  assert_equal "$status" 7
  attempt -k "$K" --slot one -- touch "$T/ran"
  assert_success
  attempt -k "$K" --slot one --share -- touch "$T/ran"
  assert_equal "$status" 7
  attempt -k "$K" --slot two -- sh -c 'kill -9 $$'
  attempt -k "$K" --slot two --share -- touch "$T/ran"
  assert_equal "$status" 137
  [[ ! -e $T/ran ]]
}

@test "a done slot at a terminal: the line tells how it ended and how to run it again, also with --quiet" {
  local quiet
  attempt -k "$K" --slot s -- true
  attempt -k "$K" --slot f -- sh -c 'exit 7'
  for quiet in '' -q; do
    run in_terminal -- "$RLOCK_BIN" $quiet -k "$K" --slot s -- touch "$T/ran"
    assert_success
    assert_output --regexp "'$K' is done for the slot 's': exit 0, [0-9]+m?s ago by .*/true; to run it again, leave out --slot"
  done
  run in_terminal -- "$RLOCK_BIN" -q -k "$K" --slot f --share -- touch "$T/ran"
  assert_equal "$status" 7
  assert_output --partial "'$K' is done for the slot 'f': exit 7, "
  [[ ! -e $T/ran ]]
}

@test "a done slot elsewhere: a line tells that its run failed, unless --quiet" {
  attempt -k "$K" --slot f -- sh -c 'exit 7'
  attempt -k "$K" --slot f -- touch "$T/ran"
  assert_success
  assert_one_stderr_line "'$K' is done for the slot 'f': exit 7, "
  [[ $stderr == *'; to run it again, leave out --slot' ]]
  attempt -q -k "$K" --slot f -- touch "$T/ran"
  assert_success
  assert_silent
  attempt -k "$K" --slot k -- sh -c 'kill -9 $$'
  attempt -k "$K" --slot k -- touch "$T/ran"
  assert_one_stderr_line "'$K' is done for the slot 'k': signal 9, "
  [[ ! -e $T/ran ]]
}

@test "spares that wait run nothing when the holder ends, and leave together" {
  local i
  hold holder -k "$K" --slot s
  for i in 1 2 3 4 5; do queue_up "spare$i" "$K" "$i" --slot s --share -- touch "$T/ran"; done
  queue_up other "$K" 6 -- echo other
  let_go holder
  for i in 1 2 3 4 5; do
    finish "spare$i"
    assert_success
  done
  finish other
  assert_output other
  [[ ! -e $T/ran ]]
  only_left_of_slot s
}

@test "spares that find it done, and were to see whether the first waiter comes, are followed by others" {
  local slot record before
  own_server
  slot=$(companion "$K" slot:s)
  attempt -k "$K" --slot s -- true
  record=$(redis get "$slot")
  redis del "$slot" >/dev/null
  hold holder -k "$K"
  queue_up dead "$K" 1 -- touch "$T/ran"
  queue_up second "$K" 2 --slot s -- touch "$T/ran"
  queue_up alive "$K" 3 -- echo ran
  queue_up last "$K" 4 --slot s -- touch "$T/ran"
  wait_until listening 5 # also the holder, after a second
  redis set "$slot" "$record" >/dev/null # it ends, and nobody is told
  signal KILL dead
  before=$(now_ms)
  let_go holder
  finish alive
  assert_output ran
  assert_less $(($(now_ms) - before)) 6000 # its heartbeat takes 12 s
  [[ ! -e $T/ran ]]
  finish second
  finish last
  finish dead
}

@test "spares are told of the end, and none of them looks twice" {
  local i
  own_server
  watch_wire "$T/wire"
  hold holder -k "$K" --slot s
  for i in 1 2 3; do queue_up "spare$i" "$K" "$i" -q --slot s -- touch "$T/ran"; done
  wait_until listening 4 # also the holder, after a second
  wire_mark "$T/wire" one
  let_go holder
  for i in 1 2 3; do finish "spare$i"; done
  wire_mark "$T/wire" two
  end_watching
  [[ ! -e $T/ran ]]
  assert_equal "$(wire_between "$T/wire" one two | grep -ci '"blpop"')" 0
  assert_equal "$(wire_between "$T/wire" one two | grep -ciE '"evalsha"')" 4
}

# told: the numbers of the waiters behind the first one, no processes, that have a message.
told() { redis --raw keys "$(companion "$K" mail:strange)*" | sed 's/.*strange//' | sort -n | tr '\n' ' '; }

@test "a thousand spares are told of the end at once, and each that leaves tells the next" {
  hold holder -k "$K" --slot s
  queue_up spare "$K" 1 --slot s -- touch "$T/ran"
  # The last of a queue looks when the first may be dead: only 1030 is woken for that.
  redis eval 'for i = 1, 1030 do
    redis.call("ZADD", KEYS[1], 9e15 + i, "strange" .. i)
    redis.call("ZADD", KEYS[2], 9e15, "strange" .. i)
  end' 2 "$(companion "$K" queue)" "$(companion "$K" alive)" >/dev/null
  let_go holder
  finish spare
  assert_success
  [[ ! -e $T/ran ]]
  # 999 by the run, behind the spare, and 1000 by the spare.
  assert_equal "$(told)" "$(seq -s ' ' 1000) 1030 "
}

# Nothing but the fence, the memory and the slot.
only_left_of_slot() {
  run redis --raw keys "*$K*"
  assert_equal "$(printf '%s\n' "${lines[@]}" | sort)" \
    "$(printf '%s\n' "$(companion "$K" fence)" "$(companion "$K" runs)" "$(companion "$K" slot:"$1")" | sort)"
}

@test "a spare takes over when the holder's host dies, and is told that it is not the first" {
  local before
  hold holder -k "$K" --slot s -t 2s
  queue_up spare "$K" 1 --slot s -- sh -c "$told; exit 4"
  kill -9 "${PIDS[holder]}" "$(guardian_of holder)"
  before=$(now_ms)
  finish spare
  assert_equal "$status" 4
  assert_output 's 2'
  assert_less $(($(now_ms) - before)) 6000
  attempt -k "$K" --slot s --share -- touch "$T/ran"
  assert_equal "$status" 4
  run json '[[r["slot"], r["attempt"], r["outcome"]] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output '[["s", 2, "exited"], ["s", 1, "lost"]]'
}

@test "an end that is told after the end of the lease is heard, and what was given back late never was" {
  own_server
  attempt -k "$K:known" -- true # the server knows the scripts
  start holder -k "$K" --slot s -t 2s -- sh -c ': >"$T/begun"; until [ -e "$T/end" ]; do sleep 0.05; done; exit 3'
  wait_until test -e "$T/begun"
  pause_redis "$SERVER"
  touch "$T/end"
  finish holder
  assert_equal "$status" 3
  sleep 2
  resume_redis "$SERVER"
  wait_until slot_is_done s
  attempt -k "$K" --slot s --share -- touch "$T/ran"
  assert_equal "$status" 3
  [[ ! -e $T/ran ]]
  assert_equal "$(json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json "$K")" '["exited"]'
}

slot_is_done() { [[ $(redis get "$(companion "$K" "slot:$1")") == done* ]]; }

@test "the names of slots are no locks, whatever they end with" {
  own_server
  attempt -k "$K" --slot x:rlock:fence -- true
  attempt -k "$K" --slot x:rlock:runs -- true
  for command in list log metrics; do
    attempt "$command"
    assert_success
  done
  assert_equal "$(json 'len(d["locks"])' log --json)" 1
}

@test "log has a column for slots, where there are any" {
  attempt -k "$K" -- true
  attempt log "$K"
  refute_output --partial SLOT
  attempt -k "$K" --slot 2026-11-24 --retry 1 -- false
  attempt -k "$K" --slot 2026-11-24 --retry 1 -- true
  attempt log "$K"
  [[ ${lines[0]} == *HELD*SLOT*OUTCOME* ]]
  assert_regex "${lines[1]}" '2026-11-24, run 2 +exit 0'
  assert_regex "${lines[2]}" '2026-11-24 +exit 1'
  assert_regex "${lines[3]}" ' - +exit 0'
}

@test "a single attempt that comes while it runs is turned away" {
  hold holder -k "$K" --slot s
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  [[ ! -e $T/ran ]]
}

@test "--retry: a run that failed leaves it open for so many more" {
  local i
  for i in 1 2 3; do
    attempt -k "$K" --slot s --retry 2 -- sh -c "$told; exit 9"
    assert_equal "$status" 9
    assert_output "s $i"
  done
  attempt -k "$K" --slot s --retry 2 --share -- touch "$T/ran"
  assert_equal "$status" 9
  attempt -k "$K" --slot t --retry 5 -- false
  attempt -k "$K" --slot t --retry 5 -- true
  attempt -k "$K" --slot t --retry 5 --share -- touch "$T/ran"
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a spare has the next try" {
  hold holder -k "$K" --slot s --retry 1
  queue_up spare "$K" 1 --slot s --retry 1 -- sh -c "$told"
  kill -KILL "$(job_of holder)"
  finish spare
  assert_success
  assert_output 's 2'
}

@test "after a cancel no spare begins it again" {
  hold holder -k "$K" --slot s
  queue_up spare "$K" 1 --slot s -- touch "$T/ran"
  queue_up sharing "$K" 2 --slot s --share -- touch "$T/ran"
  attempt cancel "$K"
  finish holder
  assert_equal "$status" 76
  finish spare
  assert_success
  finish sharing
  assert_equal "$status" 76
  attempt -k "$K" --slot t --max-hold 500ms --grace 100ms -- sleep 60
  assert_equal "$status" 76
  attempt -k "$K" --slot t --share -- touch "$T/ran"
  assert_equal "$status" 76
  [[ ! -e $T/ran ]]
}

@test "a host that goes down, a lock that is taken away: a spare takes over" {
  hold holder -k "$K" --slot s
  queue_up spare "$K" 1 --slot s -- sh -c "$told"
  signal TERM holder
  finish holder
  finish spare
  assert_output 's 2'
  hold holder -k "$K" --slot t
  queue_up spare "$K" 1 --slot t -- sh -c "$told"
  attempt force-release --yes "$K"
  finish holder
  finish spare
  assert_output 't 2'
}

@test "a job that ended well although it was told to end has done it" {
  start holder -k "$K" --slot s -- sh -c 'trap "exit 0" TERM; echo started; while :; do sleep 0.1; done'
  wait_until says "$T/holder.out" started
  signal TERM holder
  finish holder
  assert_success
  attempt -k "$K" --slot s -- touch "$T/ran"
  [[ ! -e $T/ran ]]
}

@test "a command that could not be run has done nothing" {
  attempt -k "$K" --slot s -- "$T/nothing"
  assert_equal "$status" 127
  attempt -k "$K" --slot s -- sh -c "$told"
  assert_output 's 2'
}

@test "a wait for another slot of the key goes on" {
  hold holder -k "$K" --slot monday
  queue_up monday "$K" 1 --slot monday -- touch "$T/ran"
  queue_up tuesday "$K" 2 --slot tuesday -- sh -c "$told"
  let_go holder
  finish monday
  assert_success
  finish tuesday
  assert_output 'tuesday 1'
  [[ ! -e $T/ran ]]
}

@test "done while --min-hold keeps the lock" {
  attempt -k "$K" --slot s --min-hold 10s -- true
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_success
  attempt -k "$K" --slot t -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "the status file says who did it, and how it ended" {
  attempt -k "$K" --slot s --label first --status-file "$T/first" -- sh -c 'exit 3'
  attempt -k "$K" --slot s --status-file "$T/second" -- true
  assert_success
  run jq -e '.outcome == "ran" and .slot == "s" and .attempt == 1 and .done == null' "$T/first"
  assert_success
  run jq -e --slurpfile first "$T/first" '.outcome == "done" and .exit_code == 0 and .slot == "s" and .attempt == 1 and
    .done.exit_code == 3 and .done.token == $first[0].token and .done.fence == $first[0].fence and
    .done.ended_ms_ago < 60000 and (.why | startswith("exit 3, "))' "$T/second"
  assert_success
}

@test "the slot of the hour, the day, and so on, by this host's clock" {
  attempt -k "$K" --slot @day -- sh -c 'echo $RLOCK_SLOT'
  assert_output "$(date +%F)"
  TZ=Asia/Kolkata attempt -k "$K" --slot @hour -- sh -c 'echo $RLOCK_SLOT'
  assert_output --regexp '^20..-..-..T..\+0530$'
  attempt -k "$K" --slot @15m -- sh -c 'echo $RLOCK_SLOT'
  assert_output --regexp '^20..-..-..T..:(00|15|30|45)[+-]....$'
  attempt -k "$K" --slot @fortnight -- true
  assert_equal "$status" 64
  assert_one_stderr_line "--slot: '@fortnight' is not valid; expected "
}

@test "crontab's words name slots of the clock" {
  attempt -k "$K" --slot @daily -- sh -c 'echo $RLOCK_SLOT'
  assert_output "$(date +%F)"
  attempt -k "$K" --slot @day -- touch "$T/ran"
  attempt -k "$K" --slot @midnight -- touch "$T/ran"
  assert_success
  [[ ! -e $T/ran ]]
}

# refused_slot ID TEXT: before anything runs, and the line has this text.
refused_slot() {
  local id=$1 text=$2
  attempt -k "$K" --slot "$id" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "--slot: '$id' is not valid; "
  [[ $stderr == *"$text"* && ! -e $T/ran ]]
}

@test "a word for a period is no id, because a forgotten @ would run the job once and never again" {
  local id
  for id in day hour week month daily hourly weekly monthly midnight 15m 6h; do
    refused_slot "$id" "did you mean '@$id'? For the slot of that name: '@=$id'"
  done
  refused_slot Daily "did you mean '@daily'?"
  refused_slot nightly "did you mean '@day'?"
  refused_slot minute "did you mean '@1m'?"
  refused_slot @Day "did you mean '@day'?"
  refused_slot @nightly "did you mean '@day'?"
  for id in yearly 24h 1d 7d 30s; do refused_slot "$id" "For the slot of that name: '@=$id'"; done
  for id in 42 1234567d 15mm days; do
    attempt -k "$K" --slot "$id" -- sh -c 'echo $RLOCK_SLOT'
    assert_output "$id"
  done
  attempt -k "$K" --slot @=day -- sh -c "$told"
  assert_output 'day 1'
}

@test "a slot of the clock is refused where the time zone is not known, and no other slot is" {
  local zone
  for zone in Nowhere/City :Nowhere/City Berlin "$T/none"; do
    TZ=$zone attempt -k "$K" --slot @day -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "--slot @day: this host has no data for its time zone '${zone#:}'; "
    [[ $stderr == *'install the package tzdata'* ]]
  done
  mkdir "$T/zones"
  TZDIR=$T/zones TZ=Asia/Kolkata attempt -k "$K" --slot @hour -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran ]]
  TZ=Nowhere/City attempt -k "$K" --slot @=day -- true
  assert_success
  for zone in UTC Etc/UTC GMT '' CET-1CEST,M3.5.0,M10.5.0/3 '<+03>-3' EST5EDT; do
    TZDIR=$T/zones TZ=$zone attempt -k "$K" --slot @hour -- true
    assert_success
  done
}

@test "options that contradict each other are refused" {
  local options
  for options in '-s' '--permits 2' '--supersede' '-k another' '--history 0'; do
    read -ra more <<<"$options"
    attempt -k "$K" --slot s "${more[@]}" -- touch "$T/ran"
    assert_equal "$status" 64
  done
  attempt -k "$K" --share -- touch "$T/ran"
  assert_equal "$status" 64
  attempt -k "$K" --slot '' -- touch "$T/ran"
  assert_equal "$status" 64
  attempt -k "$K" --slot $'two\nlines' -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
}

@test "--one-of is named where it cannot go with a slot" {
  attempt -k "$K" --slot s --one-of a,b -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line '--slot cannot be used with --one-of'
}

@test "--reentrant runs no slot under the lock of the run around it, and takes the lock where there is none" {
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K" --reentrant --slot s -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line '--slot'
  [[ ! -e $T/ran ]]
  attempt -k "$K" --reentrant --slot s -- sh -c "$told"
  assert_output 's 1'
}

@test "a slot lasts as long as --history" {
  attempt -k "$K" --slot s --history 300ms -- true
  wait_until free "$(companion "$K" slot:s)"
  attempt -k "$K" --slot s -- sh -c "$told"
  assert_output 's 1'
}

@test "in an uncontended run it costs no further command" {
  own_server
  watch_wire "$T/wire"
  attempt -k "$K" --slot warm -- true
  wire_mark "$T/wire" one
  attempt -k "$K" --slot s -- true
  wire_mark "$T/wire" two
  end_watching
  assert_equal "$(wire_between "$T/wire" one two | wc -l)" 2
}
