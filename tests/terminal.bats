#!/usr/bin/env bats
# rlock at a terminal: ^C, ^Z and fg, jobs that read, a hangup, the status line, questions.
load lib/rlock

# The job's own log tells what reached it; KEY and paths are passed by the environment.
logger_line() {
  echo "\$RLOCK_BIN -k \$K -- \$LIB/log-signals \$T/job.log \$T/job.end 7"
}


@test "^C reaches the job once, and its code is the exit code" {
  run in_terminal "until grep -qs started '$T/job.log'" 'send \x03' "until grep -q INT '$T/job.log'" \
    "run touch '$T/job.end'" -- "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
  assert_equal "$(<"$T/job.log")" $'started\nINT'
  free "$K"
}

@test "^C ends a job that does not handle it: 130" {
  run in_terminal 'expect started' 'send \x03' -- "$RLOCK_BIN" -k "$K" -- "$LIB/until-file" "$T/never"
  assert_equal "$status" 130
  free "$K"
}

@test "^\\ reaches the job once" {
  run in_terminal "until grep -qs started '$T/job.log'" 'send \x1c' "until grep -q QUIT '$T/job.log'" \
    "run touch '$T/job.end'" -- "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
  assert_equal "$(<"$T/job.log")" $'started\nQUIT'
}

@test "a resized terminal is told to the job once" {
  run in_terminal "until grep -qs started '$T/job.log'" 'size 30 90' "until grep -q WINCH '$T/job.log'" \
    "run touch '$T/job.end'" -- "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
  assert_equal "$(<"$T/job.log")" $'started\nWINCH'
}

@test "a job that reads the terminal gets what is typed" {
  run in_terminal 'expect name?' 'send Ada\r' -- \
    "$RLOCK_BIN" -k "$K" -- bash -c 'read -rp "name? " name; echo "hello $name"; test -t 0 && test -t 1'
  assert_success
  assert_output --partial 'hello Ada'
}

@test "a job may set the terminal, and read single keys" {
  run in_terminal 'expect key?' 'send x' -- \
    "$RLOCK_BIN" -k "$K" -- bash -c 'stty -echo -icanon; echo "key?"; k=$(head -c 1); stty sane; echo "got <$k>"'
  assert_success
  assert_output --partial 'got <x>'
}

@test "^Z stops job and rlock, fg continues both" {
  interactive_shell
  run in_terminal 'expect ready>' "send $(logger_line)\\r" "until grep -qs started '$T/job.log'" 'send \x1a' \
    'expect Stopped' 'send fg\r' "until grep -q CONT '$T/job.log'" "run touch '$T/job.end'" \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 7
  free "$K"
}

@test "^Z and bg: the job goes on in the background" {
  interactive_shell
  run in_terminal 'expect ready>' "send $(logger_line)\\r" "until grep -qs started '$T/job.log'" 'send \x1a' \
    'expect Stopped' 'expect ready>' 'send bg\r' "until grep -q CONT '$T/job.log'" "run touch '$T/job.end'" \
    'send wait %1; exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 7
}

@test "fg after the lease's end: the job is killed, exit 76" {
  interactive_shell
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -t 3s -k \$K -- \$LIB/log-signals \$T/job.log \$T/job.end 7\\r" \
    "until grep -qs started '$T/job.log'" 'send \x1a' 'expect Stopped' 'expect ready>' \
    "until test \$(redis-cli -s '$SERVER/redis.sock' exists '$K') = 0" 'send fg\r' 'expect lost the lock' \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 76
}

@test "a job in the background that reads the terminal is stopped, and goes on with fg" {
  interactive_shell
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K -- bash -c 'echo \$\$ >\$T/pid; read -r x; echo \"got <\$x>\"; exit 5' &\\r" \
    'expect Stopped' 'send fg\r' "until grep -q '^State:.S' /proc/\$(cat '$T/pid')/status" \
    'send hello\r' 'expect got <hello>' \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 5
}

@test "a hangup reaches the job, and the lock is released" {
  run in_terminal "until grep -qs started '$T/job.log'" hangup "until grep -qs HUP '$T/job.log'" "run touch '$T/job.end'" -- \
    "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
  wait_free "$K"
}

@test "while it waits, a status line is rewritten in place, and wiped when the job starts" {
  hold holder -k "$K" --label nightly
  run in_terminal "expect waiting for '$K'" 'expect nightly' 'expect position 1' 'expect \r' "run touch '$T/holder.go'" 'expect ran' -- \
    "$RLOCK_BIN" -k "$K" -w 60s -- echo ran
  assert_success
  # what the job prints begins a line that was wiped, and is not behind the status
  [[ $output == *$'\r\e[K'ran* ]] || fail "$output"
  finish holder
}

@test "^C while waiting leaves the queue and exits 130, within a moment" {
  redis set "$K" other px 60000
  run in_terminal "expect waiting for '$K'" 'send \x03' -- "$RLOCK_BIN" -k "$K" -w 60s -- touch "$T/ran"
  assert_equal "$status" 130
  queued "$K" 0
  [[ ! -e $T/ran ]]
}

@test "^Z while waiting stops rlock, and fg waits on" {
  interactive_shell
  redis set "$K" other px 60000
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K -w 60s -- echo ran\\r" "expect waiting for" 'send \x1a' \
    'expect Stopped' 'expect ready>' "run redis-cli -s '$SERVER/redis.sock' del '$K'" 'send fg\r' 'expect ran' 'expect ready>' \
    'send exit 6\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 6
}

@test "force-release asks at a terminal: no leaves the lock, yes removes it" {
  hold holder -k "$K" --label nightly
  run in_terminal 'expect nightly' 'expect lock away' 'send n\r' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  held "$K"
  run in_terminal 'expect lock away' 'send \r' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  held "$K"
  run in_terminal 'expect nightly' 'expect lock away' 'send yes\r' -- "$RLOCK_BIN" force-release "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  free "$K"
}

@test "force-release at a terminal: end of input and ^C are no" {
  hold holder -k "$K"
  run in_terminal 'expect lock away' 'send \x04' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  run in_terminal 'expect lock away' 'send \x03' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 130
  held "$K"
  let_go holder
}

@test "a holder that changed while force-release asked is not removed" {
  hold first -k "$K" --label first
  run in_terminal 'expect first' 'expect lock away' "run touch '$T/first.go'; until [ \$(redis-cli -s '$SERVER/redis.sock' exists '$K') = 0 ]; do :; done; redis-cli -s '$SERVER/redis.sock' set '$K' second px 60000" \
    'send yes\r' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 75
  assert_equal "$(redis get "$K")" second
  finish first
  assert_success
}

@test "a waiter in the background writes no status line over what is in front" {
  redis set "$K" other px 60000
  # shellcheck disable=SC2016
  run in_terminal 'expect done' -- bash -c 'set -m; "$RLOCK_BIN" -k "$K" -w 2s -- true & wait; echo done'
  [[ $output != *"waiting for"* ]] || fail "$output"
}

@test "the status line is cut to the terminal's width, also after a resize, and its position stays" {
  local segment
  K=$K:a-key-that-is-as-long-as-the-names-that-people-give
  hold holder -k "$K" --label nightly-report-of-everything
  run in_terminal 'expect everything' 'size 24 40' 'run sleep 3' "run touch '$T/holder.go'" 'expect ran' -- \
    "$RLOCK_BIN" -k "$K" -w 60s -- echo ran
  assert_success
  segment=${output%$'\r\e[K'*}   # up to the wiping before the job
  segment=${segment##*$'\r\e[K'} # the last status
  [[ $segment == 'rlock: waiting for'*', position 1'*… ]] || fail "$segment"
  ((${#segment} < 40)) || fail "${#segment} columns: $segment"
  finish holder
}
