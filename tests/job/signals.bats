#!/usr/bin/env bats
# Signals sent to rlock reach the job; TERM and INT reach its whole tree.
load ../lib/rlock

# start_logger NAME [CODE]: a job that writes the signals it gets into $T/job.log and ends with $T/job.end.
start_logger() {
  local name=$1 code=${2:-7}
  start "$name" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" "$code"
  wait_until says "$T/job.log" started
}

end_logger() {
  local name=$1
  touch "$T/job.end"
  finish "$name"
}

# forwards NAME: sent to rlock, it arrives at the job, once; the job's code is the exit code.
forwards() {
  local name=$1
  start_logger holder
  signal "$name" holder
  wait_until says "$T/job.log" "$name"
  end_logger holder
  assert_equal "$status" 7
  assert_equal "$(<"$T/job.log")" $'started\n'"$name"
  free "$K"
}

@test "TERM is forwarded" { forwards TERM; }
@test "HUP is forwarded" { forwards HUP; }
@test "INT is forwarded" { forwards INT; }
@test "QUIT is forwarded" { forwards QUIT; }
@test "USR1 is forwarded" { forwards USR1; }
@test "USR2 is forwarded" { forwards USR2; }
@test "WINCH is forwarded" { forwards WINCH; }

@test "CONT is forwarded to a job that is stopped" {
  start_logger holder
  kill -STOP "$(job_of holder)"
  wait_until in_state "$(job_of holder)" T
  signal CONT holder
  wait_until says "$T/job.log" CONT
  end_logger holder
  assert_equal "$status" 7
}

@test "a job that dies of a forwarded signal makes 128+N" {
  local name
  ulimit -c 0
  for name in TERM HUP INT QUIT USR1 USR2; do
    hold holder -k "$K"
    signal "$name" holder
    finish holder
    assert_equal "$status" $((128 + $(kill -l "$name")))
    free "$K"
  done
}

@test "a second TERM kills a job that ignores the first" {
  start_logger holder
  signal TERM holder
  wait_until says "$T/job.log" TERM
  sleep 1.1 # the same twice within a second is one
  signal TERM holder
  finish holder
  assert_equal "$status" 137
  free "$K"
}

@test "a shell's children get TERM once, and not again when the shell ends of it" {
  start holder -k "$K" --grace 20s --ttl 60s -- \
    sh -c "trap 'exit 9' TERM; '$LIB/log-signals' '$T/job.log' '$T/job.end' 7 & wait"
  wait_until says "$T/job.log" started
  local shell
  shell=$(job_of holder) # while it lives: what it started is the guardian's first child afterwards
  signal TERM holder
  wait_until says "$T/job.log" TERM
  wait_until gone "$shell"
  sleep 0.3 # a second one would have come by then
  end_logger holder
  assert_equal "$status" 9
  assert_equal "$(<"$T/job.log")" $'started\nTERM'
}

@test "TERM twice at once, as timeout(1) and kill %1 send it, is one" {
  local round
  for round in {1..5}; do
    launch holder timeout -k 30 1 "$RLOCK_BIN" -k "$K" -- sh -c 'trap "sleep 0.2; exit 7" TERM; while :; do sleep 0.05; done'
    finish holder
    assert_equal "$status" 124
    free "$K"
  done
  start_logger holder
  signal TERM holder
  wait_until says "$T/job.log" TERM
  signal TERM holder
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 7
}

@test "INT after TERM kills too, and a second INT" {
  start_logger holder
  signal TERM holder
  wait_until says "$T/job.log" TERM
  signal INT holder
  finish holder
  assert_equal "$status" 137
  rm "$T/job.log"
  start_logger holder
  signal INT holder
  wait_until says "$T/job.log" INT
  sleep 1.1
  signal INT holder
  finish holder
  assert_equal "$status" 137
}

@test "signals ignored at start stay ignored (nohup)" {
  launch holder env --ignore-signal=HUP "$RLOCK_BIN" -k "$K" -- "$LIB/until-file" "$T/holder.go" 5
  wait_until says "$T/holder.out" started
  signal HUP holder
  signal HUP holder
  wait_held "$K"
  let_go holder
  assert_equal "$status" 5
}

@test "nohup rlock also survives a hangup while it waits" {
  redis set "$K" other px 60000
  launch waiter env --ignore-signal=HUP "$RLOCK_BIN" -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  signal HUP waiter
  redis del "$K"
  finish waiter
  assert_success
  assert_output ran
}

@test "a job that is stopped is continued to get its TERM" {
  start_logger holder
  kill -STOP "$(job_of holder)"
  wait_until in_state "$(job_of holder)" T
  signal TERM holder
  wait_until says "$T/job.log" TERM
  end_logger holder
  assert_equal "$status" 7
}

@test "a signal between grant and start is not lost: the job never runs past it" {
  local round
  for round in {1..20}; do
    start "holder-$round" -k "$K:$round" -- sh -c 'sleep 300'
    until [[ /proc/${PIDS[holder-$round]}/exe -ef ${REFUSE_BIN:-$RLOCK_BIN} ]]; do :; done
    sleep "0.000$((RANDOM % 10))"
    signal TERM "holder-$round"
    finish "holder-$round"
    assert_equal "$status" 143
    free "$K:$round"
  done
}

# with_alarm COMMAND...: as alarm(2) before an exec leaves it.
with_alarm() {
  launch holder "$PYTHON" -c 'import os, signal, sys; signal.alarm(2); os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

@test "an alarm that was set before rlock reaches the job" {
  with_alarm "$RLOCK_BIN" -k "$K" -- bash -c 'trap "echo heard; exit 5" ALRM; while :; do sleep 0.05; done'
  finish holder
  assert_equal "$status" 5
  assert_output heard
  free "$K"
}

@test "an alarm that was set before rlock ends its wait" {
  redis set "$K" other px 60000
  with_alarm "$RLOCK_BIN" -k "$K" -w 60s -- touch "$T/ran"
  finish holder
  assert_equal "$status" 142
  queued "$K" 0
}

@test "a stderr that may not grow does not take the exit code away" {
  head -c 2000 /dev/zero >"$T/full"
  # shellcheck disable=SC2016
  launch holder bash -c 'ulimit -f 1; exec "$RLOCK_BIN" -k "$K" -t 2s -- "$LIB/until-file" "$T/never" 2>>"$T/full"'
  wait_until says "$T/holder.out" started
  redis set "$K" other px 60000
  finish holder
  assert_equal "$status" 76
}

@test "cancelling a run around a run: the innermost job gets TERM once" {
  launch outer "$RLOCK_BIN" -k "$K" --grace 20s -t 60s -- "$RLOCK_BIN" -k "$K-2" -- "$RLOCK_BIN" -k "$K-3" -- \
    "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  wait_until says "$T/job.log" started
  launch canceller "$RLOCK_BIN" cancel --wait 30s "$K"
  wait_until says "$T/job.log" TERM
  sleep 0.5
  touch "$T/job.end"
  finish outer
  assert_equal "$status" 76
  finish canceller
  assert_success
  assert_equal "$(<"$T/job.log")" $'started\nTERM'
}

@test "rlock dies of INT and QUIT itself if its job did, so that a script's loop ends" {
  local name
  for name in INT QUIT; do
    run python3 -c 'import os, subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' \
      "$RLOCK_BIN" -k "$K" -- sh -c "kill -$name \$\$"
    assert_output "-$(kill -l "$name")"
    free "$K"
  done
  run python3 -c 'import os, subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' \
    "$RLOCK_BIN" -k "$K" -- sh -c 'kill -TERM $$'
  assert_output 143
}

@test "so it does if INT ends its wait" {
  redis set "$K" other px 60000
  run python3 -c 'import signal, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
p.stderr.readline(); p.send_signal(signal.SIGINT); print(p.wait())' "$RLOCK_BIN" -k "$K" -w 60s -- true
  assert_output -2
}

one_term() {
  assert_equal "$(<"$T/job.log")" $'started\nTERM'
}

@test "timeout N rlock gives the job one TERM" {
  local round
  for round in {1..6}; do
    rm -f "$T/job.log" "$T/job.end"
    launch holder timeout 1 "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
    wait_until says "$T/job.log" TERM
    sleep 0.3 # a second one would have come by then
    touch "$T/job.end"
    finish holder
    assert_equal "$status" 124
    assert_equal "$(grep -c TERM "$T/job.log")" 1 # timeout also sends CONT
  done
}

@test "TERM to the group: a shell's children get it once, and processes that have left the group also get it" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" --grace 20s --ttl 60s -- sh -c "
    '$LIB/log-signals' '$T/job.log' '$T/job.end' 7 & setsid '$LIB/log-signals' '$T/far.log' '$T/job.end' 7 & wait"
  wait_until says "$T/job.log" started
  wait_until says "$T/far.log" started
  wait_until has_witness holder
  kill -TERM -- "-${PIDS[holder]}"
  wait_until says "$T/far.log" TERM
  sleep 0.3 # a second one would have come by then
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 143
  one_term
  assert_equal "$(<"$T/far.log")" $'started\nTERM'
}

has_witness() {
  local pid
  for pid in $(<"/proc/${PIDS[$1]}/task/${PIDS[$1]}/children"); do
    [[ $(<"/proc/$pid/comm") != witness ]] || return 0
  done
  return 1
}

@test "a job that does kill 0 for its helpers, twice, goes on" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" -- bash -c 'trap "" TERM
    for round in 1 2; do (trap - TERM; exec sleep 50) & sleep 0.2; kill 0; wait; sleep 1.2; done; exit 5'
  finish holder
  assert_equal "$status" 5
}

@test "a job that signals its group with kill -- -PGID from a child also goes on" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" -- bash -c 'trap "" TERM; group=$(ps -o pgid= -p $$)
    for round in 1 2; do "$PYTHON" -c "import os, sys; os.kill(-int(sys.argv[1]), 15)" "$group"; sleep 1.2; done; exit 5'
  finish holder
  assert_equal "$status" 5
}

@test "a job that reloads at HUP and sends HUP to its group reloads once" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" -- "$PYTHON" -c '
import os, signal, time
reloads = 0
def reload(*_):
    global reloads
    reloads += 1
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.kill(0, signal.SIGHUP)
    signal.signal(signal.SIGHUP, reload)
signal.signal(signal.SIGHUP, reload)
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGHUP)
end = time.monotonic() + 1
while time.monotonic() < end: time.sleep(0.01)
print(reloads)'
  finish holder
  assert_output 1
}

@test "kill 0 of a slot's run that then fails by itself is no order: the slot is done" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" --slot one -- bash -c 'trap "" TERM; kill 0; sleep 0.3; exit 5'
  finish holder
  assert_equal "$status" 5
  attempt -k "$K" --slot one -- touch "$T/ran"
  [[ ! -e $T/ran ]]
}

@test "a kill by rlock's command line reaches the job" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  wait_until says "$T/job.log" started
  wait_until has_witness holder
  wait_until only_rlock_is_called "$K"
  pkill -USR1 -f -- "-k $K "
  wait_until says "$T/job.log" USR1
  end_logger holder
  assert_equal "$(<"$T/job.log")" $'started\nUSR1'
}

only_rlock_is_called() {
  [[ $(pgrep -f -- "-k $1 ") == "${PIDS[holder]}" ]]
}

# rolls_back COMMAND...: COMMAND, told the key of a run, has it stopped, and the handler's own command ends by itself.
rolls_back() {
  local number
  for number in {1..15}; do
    start holder -k "$K:$number" -- bash -c 'trap "/bin/sleep 0.05; echo \"rolled back: \$?\"; exit 5" TERM
      echo started; sleep 50 & wait'
    wait_until says "$T/holder.out" started
    "$@" "$K:$number"
    finish holder
    assert_output $'started\nrolled back: 0'
  done
}
term() { signal TERM holder; }
cancelled() {
  local key=$1
  attempt cancel "$key" --wait 10s
  assert_success
}

@test "a command that the handler of a TERM runs is not sent that TERM" {
  rolls_back term
  assert_equal "$status" 5
}

@test "a command that the handler runs when a run is cancelled is not sent that TERM" { rolls_back cancelled; }
