#!/usr/bin/env bats
# The server's record of runs: rlock log, overdue, the last run of inspect, --history.
load ../lib/rlock
load ../lib/quorum

# outcomes KEY: of its runs, the newest first: "exited 0", "lost", ...
outcomes() {
  json '" ".join(r["outcome"] + ("" if r["exit_code"] is None else " %d" % r["exit_code"]) for l in d["locks"] for r in l["runs"])' \
    log --json "$1"
}

@test "how each run ended: codes, signals, a command that could not be run" {
  attempt -k "$K" -- true
  attempt -k "$K" -- sh -c 'exit 3'
  attempt -k "$K" -- sh -c 'kill -9 $$'
  attempt -k "$K" -- "$T/nothing"
  run outcomes "$K"
  assert_output 'not-started 127 signalled exited 3 exited 0'
  assert_equal "$(json '[r["signal"] for r in d["locks"][0]["runs"]]' log --json "$K")" '[null, 9, null, null]'
  assert_equal "$(json 'd["locks"][0]["runs"][0]["why"]' log --json "$K")" 'No such file or directory'
}

@test "a line tells who, where, when, with which fence, how long it waited and held the lock" {
  hold first -k "$K"
  start second -k "$K" -w 60s --label two -- sh -c 'sleep 0.5; echo $RLOCK_FENCE'
  wait_queued "$K" 1
  sleep 0.7
  let_go first
  finish second
  fence=$output
  attempt log --json "$K"
  run jq -e --argjson fence "$fence" '.locks[0].runs[0] | .fence == $fence and .label == "two" and .user != null and
    .host != null and .pid > 0 and .waited_ms >= 700 and .waited_ms < 30000 and .held_ms >= 500 and .held_ms < 20000 and
    .ended_ms_ago <= .granted_ms_ago - 500' "$T/attempt.out"
  assert_success
  attempt log "$K"
  assert_equal "${#lines[@]}" 3
  assert_line --index 0 --regexp '^GRANTED +WAITED +HELD +OUTCOME +FENCE +HOLDER$'
  assert_line --index 1 --regexp "^20..-..-.. ..:..:.. .* exit 0 +$fence +.*/two$"
}

@test "the key may stand behind -k, and is no pattern there" {
  attempt -k "$K*" -- true
  attempt -k "$K-other" -- true
  attempt log -k "$K*"
  assert_equal "${#lines[@]}" 2
  attempt log "$K*"
  assert_equal "${#lines[@]}" 3
  attempt overdue -k "$K-other" --within 1h
  assert_success
  attempt overdue -k "$K-other" --within 1h "$K"
  assert_equal "$status" 64
  attempt doctor -k "$K" --json
  assert_success
}

@test "a run that goes on, and one that is lost: nobody has to clean up" {
  hold running -k "$K" -t 1s
  run outcomes "$K"
  assert_output running
  kill -9 "${PIDS[running]}" "$(guardian_of running)"
  wait_free "$K"
  run outcomes "$K"
  assert_output lost
  attempt -k "$K" -- true
  run outcomes "$K"
  assert_output 'exited 0 lost'
}

@test "the reason of a lock is shown by inspect and recorded in the log" {
  local token
  own_server
  hold holder -k "$K" --reason $'the database\nmoves'
  attempt inspect "$K"
  assert_line --regexp '^reason +the database moves$'
  assert_equal "$(json '[h["reason"] for h in d["holders"]]' inspect --json "$K")" '["the database moves"]'
  attempt -k "$K" -- true
  assert_equal "$status" 75
  assert_stderr_line '(the database moves); to queue for it'
  start waiter -k "$K" -w 60s -- true
  wait_until says "$T/waiter.err" '(the database moves), position 1'
  let_go holder
  assert_success
  finish waiter
  assert_success
  attempt acquire -k "$K" --ttl 60s --reason 'by hand'
  assert_success
  token=$output
  attempt -k "$K" -- true
  assert_stderr_line '(by hand); to queue for it'
  attempt release -k "$K" --token "$token"
  assert_success
  assert_equal "$(json '[each["reason"] for each in d["locks"][0]["runs"]]' log --json "$K")" \
    '["by hand", null, "the database moves"]'
  attempt log "$K"
  assert_output --partial '(the database moves)'
}

@test "of several who hold it each has its own reason" {
  own_server
  hold one -k "$K" -s --reason 'one thing'
  hold two -k "$K" -s --reason another
  assert_equal "$(json '[h["reason"] for h in d["holders"]]' inspect --json "$K")" '["one thing", "another"]'
  attempt -k "$K" -- true
  assert_equal "$status" 75
  [[ $stderr != *'(another)'* ]] # it is not that of the one that is named
  let_go one
  let_go two
}

@test "cancelled, superseded, force-released, overrun: and why" {
  hold cancelled -k "$K"
  attempt cancel --reason 'wrong branch' "$K"
  finish cancelled
  attempt -k "$K" --max-hold 500ms --grace 100ms -- sleep 60
  assert_equal "$status" 76
  hold superseded -k "$K"
  attempt -k "$K" --supersede -- true
  finish superseded
  hold taken -k "$K"
  attempt force-release --yes --reason 'three in the morning' "$K"
  finish taken
  run outcomes "$K"
  assert_output 'lost exited 0 superseded overran cancelled'
  run json '[r["why"] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output --regexp '^\["force-released by .*: three in the morning", null, "superseded by .*", ".*--max-hold 500ms", "cancelled by .*: wrong branch"\]$'
}

@test "steps: acquire begins a run, release ends it" {
  attempt acquire -k "$K" -t 60s
  token=$output
  run outcomes "$K"
  assert_output running
  attempt release -k "$K" --token "$token"
  assert_success
  run outcomes "$K"
  assert_output released
}

@test "a failed claim leaves no run" {
  hold holder -k "$K"
  attempt -k "$K" -- true
  attempt -k "$K" -w 200ms -- true
  attempt -k other "-k$K" -- true
  let_go holder
  run outcomes "$K"
  assert_output 'exited 0'
  run outcomes other
  assert_output ''
}

@test "readers, and those who have permits, each have a run" {
  hold one -k "$K" -s
  hold two -k "$K" -s
  let_go one
  run outcomes "$K"
  assert_output 'running exited 0'
  let_go two
  hold three -k "$K.p" --permits 2
  attempt -k "$K.p" --permits 2 -- sh -c 'exit 7'
  run outcomes "$K.p"
  assert_output 'exited 7 running'
  let_go three
}

@test "the last fifty, however many there were; -n and --failed choose" {
  local script='for i = 1, 60 do redis.call("LPUSH", KEYS[1], (i .. "\tu@h:1/x#1\t" .. i .. "\t0\t\t\t" .. i .. "\texited " .. i % 2 .. "\t")) end'
  redis eval "$script" 1 "$(companion "$K" runs)" >/dev/null
  attempt -k "$K" -- sh -c 'exit 4'
  assert_equal "$(redis llen "$(companion "$K" runs)")" 50
  assert_equal "$(outcomes "$K" | wc -w)" 100
  attempt log -n 3 "$K"
  assert_equal "${#lines[@]}" 4
  assert_line --index 1 --partial 'exit 4'
  attempt log --failed "$K"
  refute_output --partial 'exit 0'
  assert_equal "${#lines[@]}" 26
  assert_less "$(redis pttl "$(companion "$K" runs)")" 691200001
}

@test "several locks, by a pattern; all without one; also a name with letters of a glob" {
  own_server
  attempt -k job:a -- true
  attempt -k job:b -- true
  attempt -k '[x]' -- true
  attempt log 'job:*'
  assert_line --index 0 --regexp '^KEY +GRANTED'
  assert_line --index 1 --regexp '^job:a '
  assert_line --index 2 --regexp '^job:b '
  assert_equal "${#lines[@]}" 3
  attempt log
  assert_equal "${#lines[@]}" 4
  attempt log '\[x\]'
  assert_equal "${#lines[@]}" 2
  redis flushall
  attempt log job:a
  assert_success
  assert_output ''
  assert_one_stderr_line "the server remembers no run of 'job:a'"
  assert_equal "$(json 'd' log --json)" '{"locks": []}'
}

@test "--history: how long; 0 leaves nothing, and what others left alone" {
  own_server
  attempt -k "$K" --history 0 -- true
  run redis --raw keys '*'
  assert_output "$(companion "$K" fence)"
  attempt -k "$K" --history 1h -- true
  assert_less "$(redis pttl "$(companion "$K" runs)")" 3600001
  assert_less 3500000 "$(redis pttl "$(companion "$K" runs)")"
  attempt -k "$K" --history 0 -- false
  run outcomes "$K"
  assert_output 'exited 0'
  RLOCK_HISTORY=2h attempt -k "$K" -- true
  assert_less 7100000 "$(redis pttl "$(companion "$K" runs)")"
  attempt -k "$K" --history 366d -- true
  assert_equal "$status" 64
}

@test "the memory lasts while a run goes on, however short --history is" {
  hold holder -k "$K" --history 100ms -t 3s
  sleep 4
  run outcomes "$K"
  assert_output running
  let_go holder
  wait_until free "$(companion "$K" runs)"
}

@test "overdue: in time, too late, never" {
  attempt overdue "$K" --within 1h
  assert_equal "$status" 1
  assert_output "'$K': overdue: the server remembers no run"
  attempt -k "$K" -- false
  attempt overdue "$K" --within 1h
  assert_equal "$status" 1
  assert_output --regexp "^'$K': overdue: the only run that has ended did not exit with 0; it began .* ago$"
  hold holder -k "$K"
  attempt overdue "$K" --within 1h
  assert_equal "$status" 1
  assert_output --partial 'the only run that has ended did not exit with 0'
  let_go holder
  attempt -k "$K:first" -- "$RLOCK_BIN" overdue "$K:first" --within 1h
  assert_output --regexp "^'$K:first': overdue: no run has ended yet; one began .* ago and goes on$"
  attempt -k "$K:twice" -- false
  attempt -k "$K:twice" -- false
  attempt overdue "$K:twice" --within 1h
  assert_output --regexp "^'$K:twice': overdue: none of the last 2 runs exited with 0; the oldest of them began .* ago$"
  attempt -k "$K" -- true
  attempt -k "$K" -- false
  attempt overdue "$K" --within 1h
  assert_success
  assert_output --partial "'$K': not overdue: its last good run ended "
  sleep 0.2
  attempt overdue "$K" --within 100ms
  assert_equal "$status" 1
  assert_output --partial "'$K': overdue: its last good run ended "
  assert_equal "$(json '[d["overdue"], d["last_success"]["exit_code"], d["runs_remembered"], d["within_ms"]]' overdue --json "$K" --within 1h)" \
    '[false, 0, 4, 3600000]'
  attempt overdue "$K"
  assert_equal "$status" 64
  attempt overdue -S unix:///nowhere "$K" --within 1h
  assert_equal "$status" 69
}

@test "inspect of a free key tells of its last run" {
  attempt -k "$K" -- sh -c 'exit 9'
  attempt inspect "$K"
  assert_line --regexp '^last run exit 9 by .*/sh, ended 20.* ago\)$'
  assert_equal "$(json '[d["last_run"]["outcome"], d["last_run"]["exit_code"]]' inspect --json "$K")" '["exited", 9]'
}

@test "on a quorum: one run, whatever a server has missed" {
  start_quorum
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE; exit 5'
  fence=$output
  node 2 flushall >/dev/null
  attempt -k "$K" -- true
  run outcomes "$K"
  assert_output 'exited 0 exited 5'
  assert_equal "$(json 'str(d["locks"][0]["runs"][1]["fence"])' log --json "$K")" "$fence"
  attempt overdue "$K" --within 1h
  assert_success
  # A run without an end that only one server has: it never heard that the claim was withdrawn.
  node 1 lpush "{$K}:rlock:runs" $'9\tu@h:1/x#1\t9\t0\t\t' >/dev/null
  run outcomes "$K"
  assert_output 'exited 0 exited 5'
}

@test "lines that are no rlock's are passed over, and so are fields of a later version" {
  local line
  for line in '' 'x' $'1\t2' $'1\tt\tx\t0\t\t' $'1\tt\t1\t0\t\t\t1\tvanished 0\t' $'7\tu@h:1/later#1\t1000\t0\t\t\t3000\texited 0\t\tmore\tand more'; do
    redis rpush "$(companion "$K" runs)" "$line" >/dev/null
  done
  assert_equal "$(json '[[r["fence"], r["held_ms"]] for r in d["locks"][0]["runs"]]' log --json "$K")" '[[7, 2000]]'
  redis del "$(companion "$K" runs)" >/dev/null
  redis set "$(companion "$K" runs)" 'no list' >/dev/null
  attempt -k "$K" -- true
  assert_success
  attempt log "$K"
  assert_success
}

@test "a run among several that took long is remembered, however many began since" {
  hold long -k "$K" --permits 2
  redis eval 'for _ = 1, 60 do redis.call("LPUSH", KEYS[1], ARGV[1]) end redis.call("LTRIM", KEYS[1], 0, 49)' \
    1 "$(companion "$K" runs)" $'1\tu@h:1/x#1\t1\t0\t\t\t2\texited 1\t' >/dev/null
  let_go long
  attempt overdue "$K" --within 1h
  assert_success
}

# one_waits: as any kind of server tells it.
one_waits() {
  "$RLOCK_BIN" inspect --json "$K" | jq -e '.waiters | length == 1' >/dev/null
}

# draw_timeline: of a run that fails, one that holds, and one that waits for it.
draw_timeline() {
  attempt -k "$K" -- sh -c 'exit 3'
  hold first -k "$K" --label first
  start second -k "$K" -w 60s --label second -- sleep 1
  wait_until one_waits
  sleep 1
  attempt log --timeline "$K"
  assert_success
  assert_line --index 0 --regexp '^HOLDER .*\|[0-9:]+.* WAITED +HELD +OUTCOME$'
  assert_line --index 1 "$K"
  assert_line --index 2 --regexp '^2 runs held it [0-9]+ % of .* 1 waiting now$'
  assert_line --index 3 --regexp '/sh .* exit 3$'
  assert_line --index 4 --regexp '/first .*██> .* running$'
  assert_line --index 5 --regexp '/second .*░> .*- +waiting$'
  let_go first
  finish second
  attempt log --timeline -n 2 "$K"
  assert_line --index 3 --regexp '/first .*██.* exit 0$'
  assert_line --index 4 --regexp '/second .*░░.*██.* exit 0$'
  refute_output --partial 'exit 3'
  attempt log --timeline --failed "$K"
  assert_line --index 3 --regexp '/sh .*x .* exit 3$'
  refute_output --partial 'exit 0'
}

@test "--timeline draws waits, runs and ends, the oldest first" {
  draw_timeline
}

@test "--timeline draws locks in a directory" {
  export RLOCK_SERVER=file://$T/locks
  draw_timeline
}

@test "--timeline draws several keys on one axis, each once" {
  own_server
  attempt -k job:a -- true
  attempt -k job:b -- false
  attempt -k other -- true
  attempt log --timeline job:b 'job:*' other
  assert_equal "$(grep -cx 'job:b\|job:a\|other' "$T/attempt.out")" 3
  assert_line --index 1 job:b
  assert_equal "$(grep -c '^HOLDER' "$T/attempt.out")" 1
  attempt log job:b other
  assert_equal "$(awk 'NR > 1 { print $1 }' "$T/attempt.out" | paste -sd' ')" 'job:b other'
  attempt log --timeline nothing none
  assert_output ''
  assert_one_stderr_line "the server remembers no run of 'nothing', 'none'"
  attempt log --timeline --json job:a
  assert_equal "$status" 64
}

@test "--timeline is plain ASCII where the locale is, and as wide as the terminal" {
  hold first -k "$K" --label first
  sleep 0.2
  LC_ALL=C attempt log --timeline "$K"
  assert_line --index 3 --regexp '/first .*#> .* running$'
  run ! grep -q '[^ -~]' "$T/attempt.out"
  assert_equal "$(awk '{ n = length($0); if (n > most) most = n } END { print most }' "$T/attempt.out")" 80
  run in_terminal -- sh -c 'stty cols 40; exec "$@"' sh "$RLOCK_BIN" log --timeline "$K"
  assert_success
  refute_output --partial WAITED
  assert_output --partial running
  local line LC_ALL=C.UTF-8 # a block is one character
  for line in "${lines[@]}"; do
    assert_less "${#line}" 42 # with its \r
  done
  unset LC_ALL
  run in_terminal -- env TERM=xterm "$RLOCK_BIN" log --timeline "$K"
  assert_output --partial $'\x1b[1mHOLDER'
  run in_terminal -- env TERM=xterm NO_COLOR=1 "$RLOCK_BIN" log --timeline "$K"
  refute_output --partial $'\x1b[1m'
  let_go first
}
