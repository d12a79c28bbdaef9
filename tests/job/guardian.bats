#!/usr/bin/env bats
# If any process dies, stops or hangs, the job's whole tree is gone before its lease can pass to another run.
load ../lib/rlock

# family: a job with a child, an orphan, a daemon, and a daemon that has nothing of its parents' but its birth. Each notes
# its pid in $T/family.
family() {
  # shellcheck disable=SC2016
  cat <<'SH'
member='echo $$ >>"$0"; trap "" TERM HUP; while :; do sleep 0.05; done'
bash -c "$member" "$T/family" &
(bash -c "$member" "$T/family" &)
setsid bash -c "$member" "$T/family" &
(cd /; env -i PATH="$PATH" setsid bash -c "exec </dev/null >/dev/null 2>&1; $member" "$T/family" &)
trap '' TERM; echo $$ >>"$T/family"; while :; do sleep 0.05; done
SH
}

# hold_family NAME [RLOCK OPTION...]
hold_family() {
  local name=$1
  shift
  start "$name" -k "$K" "$@" -- bash -c "$(family)"
  wait_until has_lines 5 "$T/family"
}

has_lines() {
  local count=$1 file=$2
  [[ -e $file && $(wc -l <"$file") -ge $count ]]
}

family_gone() {
  local pid
  while read -r pid; do
    gone "$pid" || return 1
  done <"$T/family"
}

@test "kill -9 of rlock: the whole tree is gone at once, orphans and daemons, long before the lease ends" {
  hold_family holder --ttl 60s
  signal KILL holder
  wait_until family_gone
  held "$K"
  wait_until says "$T/holder.err" "process ${PIDS[holder]} was killed; killing its job"
}

@test "kill -9 of rlock's whole process group leaves no daemon either" {
  launch holder setsid --wait "$RLOCK_BIN" -k "$K" --ttl 60s -- bash -c "$(family)"
  wait_until has_lines 5 "$T/family"
  kill -KILL -- "-${PIDS[holder]}"
  wait_until family_gone
  held "$K"
}

@test "kill -9 of rlock, at any instant: nothing of the job is left" {
  local round pause
  for round in {1..25}; do
    rm -f "$T/family"
    start "run$round" -k "$K$round" --ttl 60s -- bash -c "$(family)"
    pause=$(printf '0.0%03d' "$((round * 6))")
    sleep "$pause"
    signal KILL "run$round"
  done
  wait_until nothing_runs
}

@test "a guardian that is killed takes the job along, and rlock the rest of it: 137" {
  hold_family holder --ttl 60s
  kill -KILL "$(guardian_of holder)"
  finish holder
  assert_equal "$status" 137
  family_gone
  free "$K"
  says "$T/holder.err" 'the guardian of the job was killed'
}

@test "a guardian that is killed at any instant, before it could report even: 137, and nothing is left" {
  local round
  for round in {1..20}; do
    start holder -k "$K" --ttl 60s -- sleep 300
    while [[ -z $(first_child "${PIDS[holder]}") ]]; do :; done
    kill -KILL "$(guardian_of holder)"
    finish holder
    assert_equal "$status" 137
  done
  assert_equal "$(marked_processes)" ''
  free "$K"
}

@test "a job whose own process is killed, for want of memory say, takes the rest along: 137, and the next one waits for that" {
  hold_family holder --ttl 60s --grace 300ms
  # shellcheck disable=SC2016
  queue_up next "$K" 1 -q -- sh -c 'while read -r pid; do ! kill -0 "$pid" || echo "$pid lives"; done <"$T/family"'
  kill -KILL "$(job_of holder)"
  finish next
  assert_success
  assert_output ''
  finish holder
  assert_equal "$status" 137
  free "$K"
}

@test "guardian and job killed at the same time: 137, and the rest is gone" {
  hold_family holder --ttl 60s
  kill -KILL "$(guardian_of holder)" "$(job_of holder)"
  finish holder
  assert_equal "$status" 137
  family_gone
  free "$K"
}

@test "a guardian that is stopped is continued, and the job's code is the exit code" {
  hold holder -k "$K" --ttl 60s
  kill -STOP "$(guardian_of holder)"
  let_go holder
  assert_success
  free "$K"
}

@test "a guardian that is stopped when rlock is killed takes the job along all the same" {
  local guardian
  hold_family holder --ttl 60s
  guardian=$(guardian_of holder)
  signal STOP holder # or it would continue its guardian before it dies
  wait_until in_state "${PIDS[holder]}" T
  kill -STOP "$guardian"
  wait_until in_state "$guardian" T
  signal KILL holder
  wait_until family_gone
  wait_until gone "$guardian"
}

@test "an heir and its guardian that are stopped when rlock is killed take the job along all the same" {
  local heir guardian
  # A child from before makes rlock a process that strangers can come to.
  # shellcheck disable=SC2016
  launch holder bash -c 'sleep 300 & exec "$@"' bash "$RLOCK_BIN" -k "$K" --ttl 60s -- bash -c "$(family)"
  wait_until has_lines 5 "$T/family"
  heir=$(pgrep -P "${PIDS[holder]}" guardian)
  guardian=$(first_child "$heir")
  signal STOP holder
  wait_until in_state "${PIDS[holder]}" T
  kill -STOP "$heir"
  wait_until in_state "$heir" T
  kill -STOP "$guardian"
  wait_until in_state "$guardian" T
  signal KILL holder
  wait_until family_gone
  wait_until gone "$guardian"
  wait_until gone "$heir"
  end_leftovers
}

@test "rlock stopped by SIGSTOP: the job is gone before the lease ends, and rlock says 76 when it comes to" {
  hold_stubborn holder -t 4s
  # shellcheck disable=SC2016
  queue_up next "$K" 1 -- bash -c 'echo "${EPOCHREALTIME/[.,]/}"'
  kill -STOP "${PIDS[holder]}"
  finish next
  assert_less "$(tail -n 1 "$T/beat")" "$output"
  wait_until says "$T/holder.err" 'is stopped, and its lease is about to end; killing its job'
  kill -CONT "${PIDS[holder]}"
  finish holder
  assert_equal "$status" 76
}

# hold_family_speechless NAME [RLOCK OPTION...]: no write to stderr returns.
hold_family_speechless() {
  local name=$1
  shift
  gcc -O1 -Wall -Wextra -Werror -o "$T/hang_stderr" "$LIB/hang_stderr.c"
  launch "$name" "$T/hang_stderr" "$RLOCK_BIN" -k "$K" "$@" -- bash -c "exec 2>/dev/null; $(family)"
  wait_until has_lines 5 "$T/family"
}

@test "stderr hangs, and rlock is killed: its guardian kills before it speaks" {
  hold_family_speechless holder --ttl 60s
  signal KILL holder
  wait_until family_gone
  held "$K"
  end_leftovers
}

@test "stderr hangs, and rlock is stopped: its guardian kills before it speaks" {
  hold_family_speechless holder --ttl 3s
  signal STOP holder
  wait_free "$K"
  wait_until family_gone
  end_leftovers
}

@test "stderr hangs, and the guardian is killed: rlock kills before it speaks" {
  hold_family_speechless holder --ttl 60s
  kill -KILL "$(guardian_of holder)"
  wait_until family_gone
  held "$K" # rlock still wants to say why
  end_leftovers
}

@test "stderr hangs, and the lock is lost: the job is stopped all the same" {
  hold_family_speechless holder --ttl 4s --grace 100ms
  redis del "$K" >/dev/null
  wait_until family_gone
  end_leftovers
}

@test "stderr hangs, and --max-hold ends the job: the lock is not refreshed for a rlock that hangs" {
  hold_family_speechless holder --ttl 2s --max-hold 3s
  wait_until family_gone
  attempt -k "$K" -w 15s -- true
  assert_success
  end_leftovers
}

# stop_main_thread NAME: of NAME, once it has a thread that refreshes; until resume_main_thread NAME.
stop_main_thread() {
  local name=$1
  wait_until has_threads 2 "${PIDS[$name]}"
  launch "$name.tracer" "$PYTHON" "$LIB/stop_thread.py" "${PIDS[$name]}"
  wait_until says "$T/$name.tracer.out" stopped
}

resume_main_thread() {
  local name=$1
  signal KILL "$name.tracer"
  finish "$name.tracer"
}

has_threads() {
  local count=$1 pid=$2
  local -a tasks=("/proc/$pid/task"/*)
  ((${#tasks[@]} >= count))
}

@test "a debugger stops rlock's main thread: the job ends before the lease, which is no longer refreshed" {
  hold_family holder --ttl 2s
  stop_main_thread holder
  wait_free "$K"
  family_gone
  resume_main_thread holder
  finish holder
  assert_equal "$status" 76
}

@test "a main thread that stands still for half a TTL keeps its lock and its job" {
  local token
  hold holder -k "$K" --ttl 6s
  token=$(redis get "$K")
  for _ in 1 2 3; do
    stop_main_thread holder
    sleep 3
    resume_main_thread holder
    wait_refreshed "$K"
  done
  assert_equal "$(redis get "$K")" "$token"
  let_go holder
  assert_success
  assert_silent
}

@test "--on-lost warn: a main thread that stands still keeps the lock as long as its job runs, and no longer" {
  start holder -k "$K" --ttl 2s --on-lost warn -- "$LIB/until-file" "$T/holder.go" 7
  wait_until says "$T/holder.out" started
  stop_main_thread holder
  sleep 5
  held "$K"
  touch "$T/holder.go"
  wait_free "$K"
  resume_main_thread holder
  finish holder
  assert_equal "$status" 7
}

# stop_and_continue PID TIMES: each stop is one for the parent to report.
stop_and_continue() {
  "$PYTHON" - "$@" <<'PY'
import os, signal, sys, time

pid = int(sys.argv[1])
for _ in range(int(sys.argv[2])):
    for number in signal.SIGSTOP, signal.SIGCONT:
        os.kill(pid, number)
        time.sleep(0.003)
PY
}

@test "a job that is stopped and continued again and again while rlock has no turn: its code is the exit code" {
  local job
  start holder -k "$K" --ttl 10m -- "$LIB/until-file" "$T/holder.go" 7
  wait_until says "$T/holder.out" started
  job=$(job_of holder)
  signal STOP holder
  wait_until in_state "${PIDS[holder]}" T
  stop_and_continue "$job" 700
  touch "$T/holder.go"
  wait_until gone "$job"
  signal CONT holder
  finish holder
  assert_equal "$status" 7
  assert_equal "$stderr" ''
  free "$K"
}

@test "--on-lost warn: a job whose rlock is stopped beyond the lease runs on" {
  start holder -k "$K" -t 3s --on-lost warn -- "$LIB/until-file" "$T/holder.go" 7
  wait_until says "$T/holder.out" started
  kill -STOP "${PIDS[holder]}"
  wait_free "$K"
  kill -CONT "${PIDS[holder]}"
  let_go holder
  assert_equal "$status" 7
}

@test "a lease that is refreshed is not cut short by the guardian" {
  local token
  hold holder -k "$K" -t 5s --grace 100ms
  token=$(redis get "$K")
  sleep 6
  assert_equal "$(redis get "$K")" "$token"
  let_go holder
  assert_success
}

@test "the guardian has its own name, command line, session and memory: who kills rlock by one of them does not kill it" {
  local guardian
  hold holder -k "$K"
  guardian=$(guardian_of holder)
  wait_until has_command_line "$guardian" guardian
  assert_equal "$(<"/proc/$guardian/comm")" guardian
  assert_equal "$(ps -o sid= -o pgid= -p "$guardian" | tr -d ' ')" "$guardian$guardian"
  # The same memory would show the same words.
  [[ $(tr '\0' ' ' <"/proc/${PIDS[holder]}/cmdline") == *"-k $K"* ]]
  let_go holder
  assert_success
}

has_command_line() {
  local pid=$1 text=$2
  [[ $(tr -d '\0' <"/proc/$pid/cmdline") == "$text" ]]
}

@test "the job's parent is deaf to what a terminal or a service manager sends" {
  hold holder -k "$K"
  local guardian number
  guardian=$(guardian_of holder)
  for number in HUP INT QUIT TERM USR1 USR2 ALRM TSTP TTIN TTOU PIPE CHLD RTMIN RTMAX; do
    kill -"$number" "$guardian"
  done
  let_go holder
  assert_success
}

@test "orphans of the job that end leave no zombies while it runs" {
  # shellcheck disable=SC2016
  start holder -k "$K" -- bash -c 'for i in {1..40}; do (true &); done; echo started; exec "$LIB/until-file" "$T/holder.go"'
  wait_until says "$T/holder.out" started
  wait_until only_child "$(guardian_of holder)" "$(job_of holder)"
  let_go holder
  assert_success
}

only_child() {
  local parent=$1 child=$2
  [[ $(<"/proc/$parent/task/$parent/children") == "$child " ]]
}

@test "rlock leaves no zombie of its guardian to its parent" {
  # With a subreaper as the parent, for nobody would see what init reaps.
  run "$PYTHON" -c '
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)
for i in range(20):
    rlock = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
    pid, status = os.waitpid(-1, 0)
    assert (pid, status) == (rlock, 0), (pid, rlock, status)
    try:
        sys.exit(f"left behind: {os.waitpid(-1, 0)}")
    except ChildProcessError:
        pass' "$RLOCK_BIN" -k "$K" true
  assert_success
}

@test "nothing is left of a guardian when rlock has ended, whatever the job left behind" {
  # shellcheck disable=SC2016
  rlock -k "$K" -- bash -c 'setsid "$LIB/until-file" "$T/daemon.go" >"$T/daemon.out" 2>&1 3>&- & echo $PPID >"$T/guardian"'
  wait_until says "$T/daemon.out" started
  [[ ! -e /proc/$(<"$T/guardian") ]]
  touch "$T/daemon.go"
  end_leftovers
}

# storm NAME [RLOCK OPTION...]: the job is 10 processes, each of which forks the next one and exits, for 8 s at most. That
# many a guardian outruns also where it may not raise its priority. One storm at a time, on the whole machine.
storm() {
  local name=$1 turn
  shift
  gcc -O1 -o "$T/storm" "$LIB/storm.c"
  exec {turn}>"${TESTS_TMPDIR:-$BATS_RUN_TMPDIR}/storm"
  flock "$turn"
  start "$name" -k "$K" "$@" -- "$T/storm" 10 8 "$T/last"
  exec {turn}>&- # the job also has it: the turn ends with the job's last process
  wait_until test -s "$T/last"
  sleep 0.5 # the storm is on its height
}

last_beat() {
  od -An -td8 -N8 "$T/last" | tr -d ' '
}

# before_grace_ends SINCE: no process of the storm was seen later than the usual grace after that
before_grace_ends() {
  assert_less "$(last_beat)" $(($1 + 5000000))
}

calm() {
  local before
  before=$(last_beat)
  sleep 0.2
  [[ $before == "$(last_beat)" ]]
}

@test "kill -9 of rlock: even a job that forks and exits as fast as it can is gone soon" {
  local killed
  storm holder --ttl 60s
  launch bystander sleep 60
  wait_until grep -qx sleep "/proc/${PIDS[bystander]}/comm" # teardown finds it from then on
  kill -STOP "${PIDS[bystander]}"
  killed=$(now_us)
  signal KILL holder
  wait_until calm
  before_grace_ends "$killed"
  in_state "${PIDS[bystander]}" T # it is in the job's process group, and of no concern to us
  signal KILL bystander
}

@test "INT after TERM: even a job that forks and exits as fast as it can is gone soon" {
  local killed
  storm holder --ttl 60s
  signal TERM holder
  killed=$(now_us)
  signal INT holder
  wait_until calm
  before_grace_ends "$killed"
  finish holder
  assert_equal "$status" 137
  free "$K"
}
