#!/usr/bin/env bats
# rlock at a terminal: ^C, ^Z and fg, jobs that read, a hangup, the status line, questions.
load ../lib/rlock

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

@test "a shell under rlock that suspends itself gives the terminal back, and fg goes on with it" {
  interactive_shell
  echo "PS1='inner> '; set +o history" >"$T/inner"
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K -- bash --noprofile --rcfile $T/inner -i\\r" 'expect inner>' \
    'send suspend\r' 'expect Stopped' 'expect ready>' 'send echo outer-$((1+1))\r' 'expect outer-2' 'expect ready>' \
    'send fg\r' 'send \r' 'expect inner>' 'send echo again-$((1+1))\r' 'expect again-2' 'expect inner>' \
    'send "$LIB/until-file" "$T/never"\r' 'expect started' 'send \x03' 'expect inner>' 'send exit 4\r' 'expect ready>' \
    'send exit $?\r' -- env T="$T" "${SHELL_THERE[@]}"
  assert_equal "$status" 4
  free "$K"
}

@test "a job in the foreground that somebody stops by SIGSTOP gives the terminal back" {
  interactive_shell
  # set -b: the shell says at once that it was stopped, and not at the next prompt only, which may have come before.
  run in_terminal 'expect ready>' 'send set -b\r' 'expect ready>' "send \$RLOCK_BIN -k \$K -- bash -c 'echo \$\$ >\$T/pid; kill -STOP \$\$; echo went on; exit 5'\\r" \
    'expect Stopped' 'expect ready>' 'send fg\r' 'expect went on' 'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 5
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
  # set -b: the shell says at once that it was stopped, and not at the next prompt only, which may have come before.
  run in_terminal 'expect ready>' 'send set -b\r' 'expect ready>' "send \$RLOCK_BIN -k \$K -- bash -c 'echo \$\$ >\$T/pid; read -r x; echo \"got <\$x>\"; exit 5' &\\r" \
    'expect Stopped' 'send fg\r' "until grep -q '^State:.S' /proc/\$(cat '$T/pid')/status" \
    'send hello\r' 'expect got <hello>' \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 5
}

@test "a stop of the job that rlock hears of only after the job's end does not stop it" {
  interactive_shell
  cat >"$T/stop" <<'SH'
job=$(<"$T/pid")
kill -STOP "$(pgrep -of -- "-k $K --ttl ")"
kill -TSTP "$job"
until grep -q "^State:.T" "/proc/$job/status"; do sleep 0.02; done
sleep 0.1 # its guardian is told
kill -CONT "$job"
touch "$T/go"
while [[ -e /proc/$job ]]; do sleep 0.02; done
SH
  run in_terminal 'expect ready>' \
    "send \$RLOCK_BIN -k \$K --ttl 60s -- bash -c 'echo \$\$ >\$T/pid; exec \$LIB/until-file \$T/go 7'\\r" 'expect started' \
    "run timeout 20 bash '$T/stop'" 'expect Stopped' 'expect ready>' 'send fg\r' 'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 7
  free "$K"
}

@test "a hangup reaches the job, and the lock is released" {
  run in_terminal "until grep -qs started '$T/job.log'" hangup "until grep -qs HUP '$T/job.log'" "run touch '$T/job.end'" -- \
    "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
  wait_free "$K"
}

@test "while it waits, a status line is rewritten in place, and wiped when the job starts" {
  hold holder -k "$K" --label nightly
  run in_terminal "expect position 1" "expect '$K' is held by" 'expect nightly' 'expect waited 1s' 'expect \r' "run touch '$T/holder.go'" 'expect ran' -- \
    "$RLOCK_BIN" -k "$K" -w 60s -- echo ran
  assert_success
  # what the job prints begins a line that was wiped, and is not behind the status
  [[ $output == *$'\r\e[K'ran* ]] || fail "$output"
  finish holder
}

@test "^C while waiting leaves the queue and exits 130, within a moment" {
  redis set "$K" other px 60000
  run in_terminal "expect position 1" 'send \x03' -- "$RLOCK_BIN" -k "$K" -w 60s -- touch "$T/ran"
  assert_equal "$status" 130
  queued "$K" 0
  [[ ! -e $T/ran ]]
}

@test "^Z while waiting stops rlock, and fg waits on" {
  interactive_shell
  redis set "$K" other px 60000
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K -w 60s -- echo ran\\r" "expect position 1" 'send \x1a' \
    'expect Stopped' 'expect ready>' "run redis-cli -s '$SERVER/redis.sock' del '$K'" 'send fg\r' 'expect ran' 'expect ready>' \
    'send exit 6\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 6
}

@test "force-release asks at a terminal: no leaves the lock, yes removes it" {
  hold holder -k "$K" --label nightly
  run in_terminal 'expect nightly' 'expect will be stopped' 'send n\r' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  held "$K"
  run in_terminal 'expect will be stopped' 'send \r' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  held "$K"
  run in_terminal 'expect nightly' 'expect will be stopped' 'send yes\r' -- "$RLOCK_BIN" force-release "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  free "$K"
}

@test "the question says whose job is stopped" {
  hold holder -k "$K" --label nightly
  run in_terminal "expect Take '$K' from $(id -un)@$(hostname):${PIDS[holder]}/nightly? Its job will be stopped." "expect Type 'yes': " 'send no\r' -- \
    "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  redis set "$K:foreign" token px 60000
  run in_terminal "expect Take '$K:foreign' from token? It is a foreign client, which will not notice." "expect Type 'yes': " 'send no\r' -- \
    "$RLOCK_BIN" force-release "$K:foreign"
  assert_equal "$status" 1
  let_go holder
}

@test "force-release at a terminal: end of input and ^C are no" {
  hold holder -k "$K"
  run in_terminal 'expect will be stopped' 'send \x04' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 1
  run in_terminal 'expect will be stopped' 'send \x03' -- "$RLOCK_BIN" force-release "$K"
  assert_equal "$status" 130
  held "$K"
  let_go holder
}

@test "a holder that changed while force-release asked is not removed" {
  hold first -k "$K" --label first
  run in_terminal 'expect first' 'expect will be stopped' "run touch '$T/first.go'; until [ \$(redis-cli -s '$SERVER/redis.sock' exists '$K') = 0 ]; do :; done; redis-cli -s '$SERVER/redis.sock' set '$K' second px 60000" \
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
  [[ $output != *"position 1"* ]] || fail "$output"
}

@test "^C reaches a job in a session of its own" {
  run in_terminal "until grep -qs started '$T/job.log'" 'send \x03' "until grep -q INT '$T/job.log'" \
    "run touch '$T/job.end'" -- "$RLOCK_BIN" -k "$K" -- setsid "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  assert_equal "$status" 7
}

@test "^C ends a script's loop around rlock" {
  run in_terminal "until grep -qs started '$T/log'" 'send \x03' -- \
    bash -c 'for i in 1 2 3; do "$RLOCK_BIN" -k "$K" -- sh -c "echo started >>\"$T/log\"; sleep 5"; done; echo went on'
  refute_output --partial 'went on'
  line_count_is "$T/log" 1
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
  [[ $segment =~ ^'rlock: #1, waited '[0-9]+'s: '.*…$ ]] || fail "$segment"
  ((${#segment} < 40)) || fail "${#segment} columns: $segment"
  finish holder
}

@test "a waiter in the background does not write over the prompt" {
  redis set "$K" other px 60000
  interactive_shell
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K -w 60s -- true &\\r" 'expect ready>' "until [ \"\$(redis-cli -s \"\$SERVER/redis.sock\" exists \"\$K\")\" = 1 ]" \
    "run sleep 1.5" 'send kill %1; wait\r' 'expect ready>' 'send exit 0\r' -- "${SHELL_THERE[@]}"
  refute_output --partial 'position 1'
}

# widest_line: of what a terminal of 24 rows was sent, without colours, in columns.
widest_line() {
  "$PYTHON" -c '
import re, sys, unicodedata
text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stdin.read())
wide = lambda c: 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
print(max(sum(map(wide, line)) for line in re.split(r"[\r\n]+", text)))'
}

# list_at COLUMNS [ARG...]
list_at() {
  local columns=$1
  shift
  run in_terminal "expect ready" "size 24 $columns" 'send \r' -- bash -c 'stty -echo; echo ready; read -r; exec "$RLOCK_BIN" list "$@"' - "$@"
  assert_success
}

@test "a list fits a terminal of 80 and of 40 columns, keys are cut in the middle" {
  own_server
  hold holder -k ci/group/subgroup/project/deploy-to-production-in-europe --label deploy.sh
  list_at 80
  assert_equal "$(widest_line <<<"$output")" 80
  assert_output --regexp 'ci/group.*….*europe +held '
  list_at 40
  assert_equal "$(widest_line <<<"$output")" 40
  refute_output --partial WAITING
  assert_output --partial FOR
  list_at 40 --wide
  assert_output --partial ci/group/subgroup/project/deploy-to-production-in-europe
  list_at 200
  assert_output --partial ci/group/subgroup/project/deploy-to-production-in-europe
  let_go holder
}

@test "wide characters in a list take two columns each" {
  own_server
  hold holder -k 数据库备份数据库备份数据库备份数据库备份 --label 备份
  hold other -k deploy
  list_at 60
  (($(widest_line <<<"$output") <= 60)) || fail "$output"
  assert_output --regexp '数据.*….*备份 +held '
  "$PYTHON" -c '
import re, sys, unicodedata
text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.argv[1])
wide = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
columns = {wide(line[:line.index("held")]) for line in text.splitlines() if "held" in line}
sys.exit(len(columns) != 1)' "$output" || fail "$output"
  let_go holder
  let_go other
}

@test "a terminal gets colours, unless NO_COLOR or --color=never says otherwise" {
  export TERM=xterm
  own_server
  hold holder -k "$K"
  list_at 80
  assert_output --partial $'\e[33mheld\e[0m'
  list_at 80 --color=never
  refute_output --partial $'\e['
  NO_COLOR=1 list_at 80
  refute_output --partial $'\e['
  NO_COLOR=1 list_at 80 --color=always
  assert_output --partial $'\e[33m'
  TERM=dumb list_at 80
  refute_output --partial $'\e['
  let_go holder
}

@test "--watch redraws in place, fits a resized terminal, and ^C gives the screen back: 0" {
  own_server
  hold holder -k ci/group/subgroup/project/deploy-to-production
  run in_terminal 'expect deploy-to-production' 'size 24 40' 'expect …' "run touch '$T/holder.go'" 'expect no lock is held' 'send \x03' -- \
    "$RLOCK_BIN" list --watch
  assert_success
  [[ $output == $'\e[?1049h\e[?25l'* ]] || fail "$output"
  [[ $output == *$'\e[?25h\e[?1049l' ]] || fail "$output"
  # After the resize no line is longer than the terminal is wide.
  (($(widest_line <<<"${output##*until-file}") <= 45)) || fail "$output" # with what ^C shows
  finish holder
}

@test "--watch goes on while the server is away, and TERM also ends it cleanly" {
  own_server
  hold holder -k "$K"
  run in_terminal "expect $K" "run kill -STOP \$(cat '$SERVER/pid')" 'expect no answer' "run kill -CONT \$(cat '$SERVER/pid')" "expect $K" \
    "run kill -TERM \$(cat '$T/pid')" -- bash -c 'echo $$ >"$T/pid"; exec "$RLOCK_BIN" list --watch --connect-timeout 1s'
  assert_equal "$status" 143
  [[ $output == *$'\e[?25h\e[?1049l' ]] || fail "$output"
  let_go holder
}

@test "--watch is ended by ^C at once, also while a server does not answer, and says which server" {
  local before
  own_server
  hold holder -k "$K"
  run in_terminal "expect $K" "run kill -STOP \$(cat '$SERVER/pid')" "run sleep 3; date +%s%3N >'$T/then'" 'send \x03' -- \
    "$RLOCK_BIN" list --watch --connect-timeout 60s
  assert_success
  before=$(<"$T/then")
  assert_less $(($(now_ms) - before)) 5000
  kill -CONT "$(<"$SERVER/pid")"
  run in_terminal "expect $K" "run kill -STOP \$(cat '$SERVER/pid')" "expect cannot reach $RLOCK_SERVER: no answer" \
    'send \x03' -- "$RLOCK_BIN" list --watch --connect-timeout 1s
  assert_success
  kill -CONT "$(<"$SERVER/pid")"
  let_go holder
}

@test "--watch shows as many rows as there are, and says how many more there would be" {
  local number
  own_server
  for number in 1 2 3 4 5 6 7 8; do
    attempt acquire -k "lock-$number" --ttl 10m
    assert_success
  done
  run in_terminal 'expect ready' 'size 6 80' 'send \r' 'expect … and 5 more' 'send \x03' -- \
    bash -c 'stty -echo; echo ready; read -r; exec "$RLOCK_BIN" list --watch'
  assert_success
}
