#!/usr/bin/env bats
# The whole tree of the job: what goes with it, what stays, and who came before it.
load ../lib/rlock
load ../lib/namespaces

@test "TERM reaches the whole tree: children, orphans and daemons; release comes after they are gone" {
  start holder -k "$K" -- bash -c '
    sleep 300 &
    setsid sleep 300 &
    (setsid sh -c "echo daemon; exec sleep 300" &)
    echo started; wait'
  wait_until says "$T/holder.out" daemon
  wait_until says "$T/holder.out" started
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  assert_equal "$(marked_processes)" ''
  free "$K"
}

@test "the lock is not released before the last of the tree is gone" {
  # The daemon notes at its end, late, whether the key is still held.
  start holder -k "$K" -t 20s --grace 5s -- bash -c '
    setsid bash -c "trap \"sleep 0.3; redis-cli -s $SERVER/redis.sock exists $K >$T/at-end; exit\" TERM; echo daemon; while :; do sleep 0.02; done" &
    echo started; wait'
  wait_until says "$T/holder.out" daemon
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  assert_equal "$(<"$T/at-end")" 1
  free "$K"
}

@test "a process of the tree that ignores TERM is killed after the grace" {
  start holder -k "$K" -t 6s --grace 200ms -- bash -c '
    setsid bash -c "trap \"\" TERM; echo daemon; while :; do sleep 0.02; done" &
    echo started; wait'
  wait_until says "$T/holder.out" daemon
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  assert_equal "$(marked_processes)" ''
}

@test "leftovers of a job that ends by itself are left alone" {
  start holder -k "$K" -- bash -c 'setsid "$LIB/until-file" "$T/daemon.go" & sleep 300 & echo $! >"$T/child"; exit 3'
  finish holder
  assert_equal "$status" 3
  free "$K"
  process_alive "$(<"$T/child")"
  touch "$T/daemon.go"
  end_leftovers
}

@test "USR1 goes to the job alone, not to its children" {
  start holder -k "$K" -- bash -c '
    trap "echo got USR1" USR1
    sleep 300 & echo $! >"$T/child"; echo started; until [ -e "$T/end" ]; do sleep 0.02; done; kill $!'
  wait_until says "$T/holder.out" started
  signal USR1 holder # would end the sleeping child
  wait_until says "$T/holder.out" 'got USR1'
  process_alive "$(<"$T/child")"
  touch "$T/end"
  finish holder
  assert_success
}

@test "a lost lock also ends a stopped job" {
  start holder -k "$K" -t 600ms -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  kill -STOP "$(job_of holder)"
  redis del "$K"
  finish holder
  assert_equal "$status" 76
  assert_equal "$(marked_processes)" ''
}

@test "zombies of orphans are reaped while the job runs" {
  start holder -k "$K" -- bash -c 'for i in 1 2 3 4 5; do (sh -c "exit 0" &); done; echo started; until [ -e "$T/holder.go" ]; do sleep 0.02; done'
  wait_until says "$T/holder.out" started
  wait_until no_zombie_child
  let_go holder
  assert_success
}

no_zombie_child() {
  local pid
  for pid in $(<"/proc/${PIDS[holder]}/task/${PIDS[holder]}/children"); do
    if [[ $(process_state "$pid") == Z ]]; then
      return 1
    fi
  done
}

@test "children that a shell had before 'exec rlock' are not touched" {
  launch holder bash -c 'sleep 300 & echo $! >"$T/before"; exec "$RLOCK_BIN" -k "$K" -- "$LIB/until-file" "$T/holder.go" 4'
  wait_until says "$T/holder.out" started
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  process_alive "$(<"$T/before")"
  end_leftovers
}

@test "an earlier child that ends does not count as the job" {
  launch holder bash -c 'sh -c "until [ -e \"$T/first\" ]; do sleep 0.02; done; exit 9" & exec "$RLOCK_BIN" -k "$K" -- "$LIB/until-file" "$T/holder.go" 4'
  wait_until says "$T/holder.out" started
  touch "$T/first"
  wait_until no_zombie_child
  held "$K"
  let_go holder
  assert_equal "$status" 4
}

# with_a_stranger RLOCK OPTION...: a job under an rlock that was given an orphan, $T/stranger, of what its shell had
# started before.
with_a_stranger() {
  # shellcheck disable=SC2016
  launch holder bash -c '(sleep 300 & echo $! >"$T/stranger"; until [ -e "$T/leave" ]; do sleep 0.02; done) &
    until [ -s "$T/stranger" ]; do sleep 0.02; done # the kernel counts the times of starts in 10 ms
    sleep 0.02
    exec "$RLOCK_BIN" -k "$K" "$@" -- "$LIB/until-file" "$T/holder.go" 4' - "$@"
  wait_until says "$T/holder.out" started
  touch "$T/leave"
  wait_until is_child_of_holder "$(<"$T/stranger")"
}

is_child_of_holder() { [[ $(ps -o ppid= -p "$1" | tr -d ' ') == "${PIDS[holder]}" ]]; }

@test "an orphan of an earlier child is not killed with the job" {
  with_a_stranger
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  process_alive "$(<"$T/stranger")"
  end_leftovers
}

@test "an orphan of an earlier child is not waited for" {
  with_a_stranger --wait-all
  let_go holder
  assert_equal "$status" 4
  process_alive "$(<"$T/stranger")"
  end_leftovers
}

@test "an orphan of an earlier child is not killed when the guardian is" {
  with_a_stranger
  kill -KILL "$(first_child "$(guardian_of holder)")" # the first is its heir
  finish holder
  assert_equal "$status" 137
  process_alive "$(<"$T/stranger")"
  end_leftovers
}

# hidden_member: a process that its own user may not trace, below a shell; it writes TERM into $T/hidden.
# shellcheck disable=SC2089,SC2090
export hidden_member='import ctypes, signal, sys, time
log = open(sys.argv[1], "a", buffering=1)
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
def heard(*_):
    print("TERM", file=log)
    sys.exit(0)
signal.signal(signal.SIGTERM, heard)
print("here", file=log)
while True: time.sleep(1)'

# behind_hidepid NAME [RLOCK OPTION...] -- COMMAND: where /proc shows no process that its user may not trace
behind_hidepid() {
  local name=$1
  shift
  ((EUID == 0)) || skip 'it takes root to mount /proc with hidepid'
  own_pids
  # shellcheck disable=SC2016
  launch "$name" "${INSIDE[@]}" sh -c 'mount -o remount,hidepid=2 /proc && setpriv --reuid=64999 --regid=64999 --clear-groups \
    --inh-caps=+dac_override --ambient-caps=+dac_override "$RLOCK_BIN" -k "$K" "$@"; exit "$?"' - "$@"
  wait_until says "$T/hidden" here
  HIDDEN_RLOCK=$(first_child "$(first_child "${PIDS[$name]}")")
}

@test "TERM reaches a member that /proc hides, and what it has started" {
  # shellcheck disable=SC2016
  behind_hidepid holder --grace 20s -t 60s -- bash -c '"$PYTHON" -c "$hidden_member" "$T/hidden" & wait'
  kill -TERM "$HIDDEN_RLOCK"
  wait_until says "$T/hidden" TERM
  finish holder
  assert_equal "$status" 143
  free "$K"
}

@test "a member that /proc hides is waited for and killed, when the guardian is killed as well" {
  local hidden
  # shellcheck disable=SC2016
  behind_hidepid holder --grace 20s -t 60s -- bash -c '"$PYTHON" -c "$hidden_member" "$T/hidden" & wait'
  hidden=$(first_child "$(first_child "$(first_child "$HIDDEN_RLOCK")")")
  kill -KILL "$(first_child "$HIDDEN_RLOCK")"
  finish holder
  assert_equal "$status" 137
  gone "$hidden"
  free "$K"
}

@test "doctor tells that /proc hides processes" {
  ((EUID == 0)) || skip 'it takes root to mount /proc with hidepid'
  own_pids
  # shellcheck disable=SC2016
  run "${INSIDE[@]}" sh -c 'mount -o remount,hidepid=2 /proc && exec "$RLOCK_BIN" doctor'
  assert_line --regexp '^warn +processes +/proc is mounted with hidepid'
}

# The times that a process has begun to sleep, which is once a round.
sleeps_of() {
  sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$1/status"
}

@test "a process that SIGKILL does not end costs rlock and its guardian little, and is named" {
  local guardian before before_guardian
  ((EUID == 0)) || skip 'it takes root to run a part of the job as another user'
  hold_unkillable holder --ttl 60s
  guardian=$(guardian_of holder)
  signal TERM holder
  wait_until says "$T/holder.err" "SIGKILL does not end process $(<"$T/other") (sleep) of the job"
  before=$(sleeps_of "${PIDS[holder]}") before_guardian=$(sleeps_of "$guardian")
  sleep 3
  assert_less "$(($(sleeps_of "${PIDS[holder]}") - before))" 30
  assert_less "$(($(sleeps_of "$guardian") - before_guardian))" 30
  held "$K"
  kill "$(<"$T/other")"
  finish holder
  assert_equal "$status" 143
  assert_equal "$(grep -c 'does not end' "$T/holder.err")" 1
}

@test "rlock is killed, and SIGKILL does not end a part of its job: the guardian names it, and costs little" {
  local guardian before
  ((EUID == 0)) || skip 'it takes root to run a part of the job as another user'
  hold_unkillable holder --ttl 60s
  guardian=$(guardian_of holder)
  signal KILL holder
  wait_until says "$T/holder.err" "SIGKILL does not end process $(<"$T/other") (sleep) of the job"
  before=$(sleeps_of "$guardian")
  sleep 3
  assert_less "$(($(sleeps_of "$guardian") - before))" 30
  kill "$(<"$T/other")"
  wait_until gone "$guardian"
}

# A second TERM within a second is the first one once more, and under load that second begins late.
is_told_and_says() {
  signal TERM "$1"
  says "$T/$1.err" "$2"
}

@test "a guardian that a debugger stops while the job is killed: rlock names it, and waits in peace" {
  local before
  hold holder -k "$K" --ttl 60s --grace 100ms
  launch tracer "$PYTHON" "$LIB/stop_thread.py" "$(guardian_of holder)"
  wait_until says "$T/tracer.out" stopped
  wait_until is_told_and_says holder 'the job is killed; waiting for its guardian'
  before=$(sleeps_of "${PIDS[holder]}")
  sleep 3
  assert_less "$(($(sleeps_of "${PIDS[holder]}") - before))" 30
  held "$K"
  signal KILL tracer
  finish holder
  assert_equal "$status" 143
}
