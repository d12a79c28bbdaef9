#!/usr/bin/env bats
# Resources that a machine may lack: a reader of stderr, threads, descriptors, a file server, name servers.
load ../lib/rlock
load ../lib/loading
load ../lib/hostile
load ../lib/quorum

# full_pipe: $T/pipe is full, and its reader does not read, until `let_go_pipe`. It is descriptor 8.
full_pipe() {
  mkfifo "$T/pipe"
  launch reader "$PYTHON" -c 'import os, sys, time; end = os.open(sys.argv[1], os.O_RDONLY); time.sleep(60)' "$T/pipe"
  exec 8>"$T/pipe"
  "$PYTHON" - <<'PY' 3>&-
import os
other = os.open("/proc/self/fd/8", os.O_WRONLY | os.O_NONBLOCK)
try:
    while True:
        os.write(other, b"x")
except BlockingIOError:
    pass
PY
}

let_go_pipe() {
  kill "${PIDS[reader]}"
  exec 8>&-
}

# hold_mute NAME [RLOCK OPTION...]: whose stderr is that pipe, but not the job's
hold_mute() {
  local name=$1
  shift
  env --default-signal "$RLOCK_BIN" -k "$K" "$@" -- bash -c 'exec 2>/dev/null 8>&-; echo started; while :; do echo >>"$0"; sleep 0.02; done' \
    "$T/beat" </dev/null >"$T/$name.out" 2>&8 3>&- &
  PIDS["$name"]=$!
  wait_until says "$T/$name.out" started
}

@test "a stderr that nobody reads: the job is stopped when the lock is lost, and rlock says so when it can" {
  local job
  full_pipe
  hold_mute holder --ttl 3s
  job=$(job_of holder)
  redis del "$K" >/dev/null
  wait_until gone "$job"
  free "$K"
  let_go_pipe
  wait_until gone "${PIDS[holder]}"
  status=0
  wait "${PIDS[holder]}" || status=$?
  assert_equal "$status" 76
}

@test "a stderr that nobody reads: kill -9 of rlock takes the job along" {
  local job
  full_pipe
  hold_mute holder --ttl 60s
  job=$(job_of holder)
  signal KILL holder
  wait_until gone "$job"
  held "$K"
  let_go_pipe
}

@test "lines for a full pipe are written once a reader takes them" {
  mkfifo "$T/late"
  exec 7<>"$T/late"
  "$PYTHON" -c 'import os
end = os.open("/proc/self/fd/7", os.O_WRONLY | os.O_NONBLOCK)
try:
    while True: os.write(end, b"x")
except BlockingIOError: pass' 3>&-
  env --default-signal "$RLOCK_BIN" -k "$K" --ttl 2s -- sleep 30 </dev/null 2>"$T/late" 3>&- 7>&- &
  PIDS[holder]=$!
  wait_held "$K"
  redis del "$K" >/dev/null
  wait_until gone "$(job_of holder)"
  cat <&7 >"$T/said" 3>&- &
  PIDS[reader]=$!
  wait_until says "$T/said" "rlock: lost the lock '$K'"
  kill "${PIDS[reader]}"
  exec 7<&-
  wait "${PIDS[holder]}" || status=$?
  assert_equal "$status" 76
}

@test "a command that hangs while it is loaded: TERM ends rlock, the lock is free, and the command never runs" {
  hanging_command
  start holder -k "$K" --ttl 30s --status-file "$T/status" -- "$T/slow"
  wait_held "$K"
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  free "$K"
  assert_equal "$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["outcome"])' "$T/status")" interrupted
  break_lease
  sleep 0.3
  [[ ! -e $T/ran ]]
}

@test "a command that hangs while it is loaded: TERM leaves its slot open, and it was no run" {
  hanging_command
  start holder -k "$K" --slot s --ttl 30s -- "$T/slow"
  wait_held "$K"
  sleep 1.2 # from then on the guardian says that it hangs
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  break_lease
  attempt -k "$K" --slot s --share -- sh -c 'exit 4'
  assert_equal "$status" 4
  run json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json "$K"
  assert_output '["exited", "not-started"]'
}

@test "a command that hangs while it is loaded: it is given up when the lease is over, 76" {
  hanging_command
  start holder -k "$K" --ttl 2s -- "$T/slow"
  wait_held "$K"
  finish holder
  assert_equal "$status" 76
  assert_one_stderr_line "lost the lock" "before the command was loaded"
  free "$K"
  break_lease
  sleep 0.3
  [[ ! -e $T/ran ]]
}

@test "a command that hangs while it is loaded: --max-hold gives it up, and that is no loss" {
  hanging_command
  start holder -k "$K" --slot s --ttl 30s --max-hold 2s --status-file "$T/status" -- "$T/slow"
  finish holder
  assert_equal "$status" 76
  assert_one_stderr_line "its time under '$K' is over: --max-hold 2s; the command is not loaded yet"
  assert_equal "$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["outcome"])' "$T/status")" stopped
  break_lease
  attempt -k "$K" --slot s -- echo ran # nothing has been done for it
  assert_output ran
}

@test "a command that hangs while it is loaded: kill -9 of rlock ends that at once, and the command never runs" {
  hanging_command
  start holder -k "$K" --ttl 60s -- "$T/slow"
  wait_until loading holder
  signal KILL holder
  wait_until gone "$LOADING"
  wait_until gone "$GUARDIAN"
  held "$K"
  break_lease
  sleep 0.3
  [[ ! -e $T/ran ]]
}

@test "a command that hangs while it is loaded: kill -9 of rlock at any instant of that" {
  local round pause
  hanging_command
  for round in {1..20}; do
    start "run$round" -k "$K$round" --ttl 60s -- "$T/slow"
    printf -v pause '0.0%03d' "$((round * 2))"
    sleep "$pause"
    signal KILL "run$round"
  done
  wait_until only_leaseholder
  break_lease
  sleep 0.3
  [[ ! -e $T/ran ]]
}

@test "a command that hangs while it is loaded, and rlock stopped: it ends before the lease does" {
  hanging_command
  start holder -k "$K" --ttl 2s -- "$T/slow"
  wait_until loading holder
  signal STOP holder
  wait_free "$K"
  gone "$LOADING"
  break_lease
  sleep 0.3
  [[ ! -e $T/ran ]]
  signal CONT holder
  finish holder
  assert_equal "$status" 76
  assert_one_stderr_line "lost the lock" "before the command was loaded"
}

only_leaseholder() {
  [[ $(marked_processes) == "${PIDS[leaseholder]}" ]]
}

# SOMEBODY is for whom the limit of processes counts, which root has not.
as_somebody() {
  SOMEBODY=()
  if ((EUID == 0)); then
    SOMEBODY=(setpriv "--reuid=$((60000 + BATS_TEST_NUMBER))" --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override)
  fi
}

@test "no thread for the refresh: the job runs on, and the lock is refreshed when there is one" {
  as_somebody
  rm -f "$T/go"
  launch holder "${SOMEBODY[@]}" "$RLOCK_BIN" -k "$K" --ttl 6s -- "$LIB/until-file" "$T/go" 4
  wait_until says "$T/holder.out" started
  "${SOMEBODY[@]}" prlimit --pid "${PIDS[holder]}" --nproc=1:
  sleep 1.5 # a job that outlives a second is worth a thread
  "${SOMEBODY[@]}" prlimit --pid "${PIDS[holder]}" --nproc=10000:
  sleep 6
  held "$K"
  touch "$T/go"
  finish holder
  assert_equal "$status" 4
  assert_one_stderr_line 'cannot refresh the lease: starting a thread: Resource temporarily unavailable; trying again'
}

@test "no thread for the refresh at all: the line about the loss says why" {
  as_somebody
  export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # the leak check of a sanitizer also needs a thread
  launch holder "${SOMEBODY[@]}" "$RLOCK_BIN" -k "$K" --ttl 3s -- "$LIB/until-file" "$T/go" 4
  wait_until says "$T/holder.out" started
  "${SOMEBODY[@]}" prlimit --pid "${PIDS[holder]}" --nproc=1:
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'could not be refreshed in time (cannot refresh the lease: starting a thread: Resource'
}

@test "no thread for the look-up of a name: that is the reason given" {
  as_somebody
  export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
  attempt_as_somebody prlimit --nproc=1 "$RLOCK_BIN" -S redis://one.example:6379 -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'cannot look up the name: starting a thread: Resource temporarily unavailable'
  [[ ! -e $T/ran ]]
}

attempt_as_somebody() {
  launch attempt "${SOMEBODY[@]}" "$@"
  finish attempt
}

@test "a stack that may be larger than the memory: threads have a stack of their own, and the lease is refreshed" {
  sanitized || ulimit -v 900000
  ulimit -s 1000000
  hold holder -k "$K" --ttl 3s
  sleep 4
  held "$K"
  let_go holder
  assert_success
  assert_silent
}

@test "a stack that may not grow: one line, and nothing is begun" {
  local limit
  ! sanitized || return 0
  # Not 16: the kernel leaves up to 8 KiB out by chance, and the environment is in it as well.
  for limit in 32 48 64; do
    status=0
    (ulimit -s "$limit" && exec "$RLOCK_BIN" -k "$K" -- touch "$T/ran") 2>"$T/err" 3>&- || status=$?
    stderr=$(<"$T/err")
    assert_equal "$status" 71
    assert_one_stderr_line "the stack may not grow beyond $limit KiB"
  done
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "a stack that is just large enough is enough for all that rlock does" {
  local needed
  start_quorum
  ! sanitized || return 0
  (ulimit -s 64 && exec "$RLOCK_BIN" --version) 2>"$T/err" 3>&- || true
  needed=$(sed -n 's/.*, and \([0-9]*\) are needed.*/\1/p' "$T/err")
  ulimit -s $((needed + 16)) # the kernel leaves some out by chance, and the words are more
  attempt -vv -k "$K" -k "$K-2" -- sh -c 'exit 4'
  assert_equal "$status" 4
  attempt doctor
  assert_success
  attempt list --json
  assert_success
  attempt log --json
  assert_success
}

@test "no thread for the servers of a quorum: they are asked one after the other" {
  start_quorum
  as_somebody
  rm -f "$T/go"
  # the leak check of a sanitizer also needs a thread
  launch holder "${SOMEBODY[@]}" env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" "$RLOCK_BIN" -k "$K" --ttl 4s -- "$LIB/until-file" "$T/go" 4
  wait_until says "$T/holder.out" started
  sleep 1.5 # now it has its thread
  "${SOMEBODY[@]}" prlimit --pid "${PIDS[holder]}" --nproc=1:
  sleep 5
  on_nodes "$K" 3
  touch "$T/go"
  finish holder
  assert_equal "$status" 4
  on_nodes "$K" 0
  assert_one_stderr_line 'starting a thread: Resource temporarily unavailable: the servers of the quorum are asked one after'
}

@test "no descriptors: what fails says so, and is no crash" {
  local few
  start_quorum
  # A sanitizer that has no descriptor to look at memory with takes an object for none: it says so, and goes on.
  export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" UBSAN_OPTIONS="${UBSAN_OPTIONS-}:halt_on_error=0:log_path=stderr"
  for few in 8 10 12 14 16; do
    status=0
    (ulimit -Sn "$few" && exec "$RLOCK_BIN" -k "$K:$few" --ttl 30s -- true) 2>"$T/err" 3>&- || status=$?
    [[ $status == @(0|69|71) ]] || fail "with $few: $status, $(<"$T/err")"
  done
}

# with_few NAME COUNT [RLOCK OPTION...]: rlock below a limit of COUNT descriptors, with a job whose child of another session
# notes that it heard TERM; the job itself takes a moment to end of it.
with_few() {
  local name=$1 few=$2
  shift 2
  rm -f "$T"/{ran,child,heard}
  # shellcheck disable=SC2016
  launch "$name" bash -c 'ulimit -n "$0" && exec "$@"' "$few" "$RLOCK_BIN" -k "$K" "$@" -- bash -c '
    exec 2>/dev/null; echo >"$0/ran"
    setsid bash -c '\''trap "echo >$0/heard; exit" TERM; echo $$ >"$0/child"; while :; do sleep 0.02; done'\'' "$0" &
    trap "sleep 0.3; exit 3" TERM; while :; do sleep 0.02; done' "$T"
}

runs_or_refuses() {
  local name=$1
  [[ -s $T/child || -s $T/$name.err ]]
}

# ended_in_words NAME: no job ran below NAME, and NAME said why.
ended_in_words() {
  local name=$1
  finish "$name"
  [[ $status == @(69|71) && ! -e $T/ran ]] || fail "with $few: $status, $stderr"
  assert_one_stderr_line rlock:
  free "$K"
}

sweep_of_term() {
  local few started=0
  for few in {3..24}; do
    with_few "few$few" "$few" "$@"
    wait_until runs_or_refuses "few$few"
    if [[ ! -s $T/child ]]; then
      ended_in_words "few$few"
      continue
    fi
    signal TERM "few$few"
    wait_until free "$K"
    gone "$(<"$T/child")" || fail "with $few descriptors, the lock is free and the job's child lives"
    finish "few$few"
    assert_equal "$few: $status" "$few: 3"
    [[ -e $T/heard ]] || fail "with $few descriptors, the job's child was not told to end"
    assert_silent
    ((++started))
  done
  assert_less 0 "$started"
}

@test "few descriptors: rlock refuses before the job, or TERM ends the whole tree" {
  ! sanitized || return 0 # it has descriptors of its own
  sweep_of_term --ttl 30s
}

@test "few descriptors and a lock in a directory: rlock refuses before the job, or TERM ends the whole tree" {
  ! sanitized || return 0
  mkdir "$T/locks"
  export RLOCK_SERVER=file://$T/locks
  free() { rlock -q -k "$1" -- true; }
  sweep_of_term
}

@test "few descriptors: if the guardian is killed, rlock refuses before the job, or kills the whole tree at once" {
  local few watcher started=0
  ! sanitized || return 0
  for few in {3..24}; do
    with_few "few$few" "$few" --ttl 30s
    wait_until runs_or_refuses "few$few"
    if [[ ! -s $T/child ]]; then
      ended_in_words "few$few"
      continue
    fi
    watcher=$(guardian_of "few$few")
    [[ -n $watcher ]] || fail "with $few descriptors, the job runs without a guardian: $(<"$T/few$few.err")"
    kill -KILL "$watcher"
    PATIENCE=10 wait_until free "$K"
    gone "$(<"$T/child")"
    finish "few$few"
    assert_equal "$few: $status" "$few: 137"
    ((++started))
  done
  assert_less 0 "$started"
}

@test "descriptors taken away from a running rlock: its guardian passes TERM on to the whole tree" {
  ! sanitized || return 0
  with_few holder 100 --ttl 30s
  wait_until runs_or_refuses holder
  prlimit --pid "${PIDS[holder]}" --nofile=7:
  signal TERM holder
  wait_until free "$K"
  gone "$(<"$T/child")"
  finish holder
  assert_equal "$status" 3
  [[ -e $T/heard ]]
  assert_one_stderr_line 'cannot look for the processes of the job: Too many open files'
}

@test "descriptors taken away from a running rlock whose guardian is killed: it keeps the lock until it can look" {
  local child
  ! sanitized || return 0
  with_few holder 100 --ttl 2s
  wait_until runs_or_refuses holder
  child=$(<"$T/child")
  prlimit --pid "${PIDS[holder]}" --nofile=7:
  kill -KILL "$(guardian_of holder)"
  wait_until says "$T/holder.err" 'cannot look for the processes of the job: Too many open files'
  sleep 3 # longer than the lease
  if process_alive "$child"; then
    held "$K"
  fi
  prlimit --pid "${PIDS[holder]}" --nofile=100:
  wait_until free "$K"
  gone "$child"
  finish holder
  assert_equal "$status" 137
}

@test "stdout and stderr closed: what rlock says does not reach the server, and the job finds them closed" {
  watch_wire "$T/wire"
  status=0
  env --default-signal "$RLOCK_BIN" -v -k "$K" -- bash -c 'ls /proc/$$/fd >"$0"; exit 3' "$T/fds" 1>&- 2>&- 3>&- || status=$?
  assert_equal "$status" 3
  wire_mark "$T/wire" end
  run grep -c '"rlock:\|unknown command' "$T/wire"
  assert_output 0
  run cat "$T/fds"
  refute_line 1
  refute_line 2
  end_watching
}

# silent_name_servers: they say nothing about *.example for 15 s, as getaddrinfo(3) sees it. RLOCK_BIN is then a program
# into which a library can be loaded.
silent_name_servers() {
  [[ ! -e ${RLOCK_BIN%/*}/with-libraries/rlock ]] || RLOCK_BIN=${RLOCK_BIN%/*}/with-libraries/rlock
  gcc -shared -fPIC -o "$T/names.so" -x c - <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
typedef int Resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **list) {
  if (host && strstr(host, ".example") && !(hints->ai_flags & AI_NUMERICHOST)) {
    sleep(15);
    return EAI_AGAIN;
  }
  return ((Resolve *)dlsym(RTLD_NEXT, "getaddrinfo"))(host, port, hints, list);
}
C
  NAMES=(env LD_PRELOAD="$T/names.so" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0")
}

@test "name servers that are silent about one server of a quorum cost the others nothing" {
  local before
  silent_name_servers
  start_quorum 2
  export RLOCK_SERVER="$RLOCK_SERVER redis://one.example:6379"
  before=$(now_ms)
  launch holder "${NAMES[@]}" "$RLOCK_BIN" -k "$K" --ttl 6s -- bash -c 'echo started; sleep 10; exit 4'
  wait_until says "$T/holder.out" started
  assert_less "$(($(now_ms) - before))" 5000
  finish holder
  assert_equal "$status" 4
  assert_less "$(($(now_ms) - before))" 16000
}

@test "name servers that are silent do not keep a waiter beyond its patience, nor from ^C" {
  local before
  silent_name_servers
  before=$(now_ms)
  launch patient "${NAMES[@]}" "$RLOCK_BIN" -S redis://one.example:6379 -k "$K" -w 1s -- true
  launch stopped "${NAMES[@]}" "$RLOCK_BIN" -S redis://one.example:6379 -k "$K" -w 60s -- true
  finish patient
  assert_equal "$status" 69
  assert_less "$(($(now_ms) - before))" 10000 # a first answer is waited for 5 s
  signal INT stopped
  finish stopped
  assert_equal "$status" 130
  assert_less "$(($(now_ms) - before))" 12000
}
