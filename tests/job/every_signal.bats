#!/usr/bin/env bats
# Every signal that can be caught, sent in every way: the job gets it exactly as often as without rlock.
load ../lib/rlock
load ../lib/namespaces
# shellcheck source=tests/lib/all_signals.bash
source "$LIB/all_signals.bash"

# The ways to send a signal, each a function that takes its number.
to_rlock() { kill "-$1" "${PIDS[holder]}"; }
to_first_process() { kill "-$1" "$(first_child "${PIDS[holder]}")"; }
to_group() { kill "-$1" -- "-${PIDS[holder]}"; }
by_job() { echo "$1" >"$T/in"; }
# As systemd does in its control-group mode: process 1 sends it to each process, one after the other.
by_manager() { echo "$1" >"$T/order"; }
# As start-stop-daemon --exec and killall FILE do: not to the job, but to each process that executes rlock's file.
by_file() {
  "$PYTHON" -c 'import os, sys
program, number = os.stat(sys.argv[1]), int(sys.argv[2])
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        mine = sys.argv[3].encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
        if mine and os.path.samestat(os.stat(f"/proc/{pid}/exe"), program):
            os.kill(pid, number)
    except OSError:
        pass' "$RLOCK_BIN" "$1" "TEST_MARK=$TEST_MARK"
}

# Once a job has run for a moment each run has a witness.
has_witnesses() {
  [[ $(with_name witness) == "$(with_name guardian)" ]]
}

# with_name NAME: how many processes of this test have it. A guardian below another one is not counted: process 1 has an
# heir in between.
with_name() {
  local pid count=0
  for pid in $(marked_processes); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$1" ]] || continue
    [[ $(cat "/proc/$(ps -o ppid= -p "$pid" | tr -d " ")/comm" 2>/dev/null) == "$1" ]] || ((++count))
  done
  echo "$count"
}

# each_way SEND COMMAND...: COMMAND is in front of the job
each_way() {
  local send=$1 number
  shift
  counting "$@"
  wait_until has_witnesses
  counts_each "$send"
  for number in $STOPPING; do
    counting "$@"
    wait_until has_witnesses
    counts_one "$number" "$send"
  done
}

@test "sent to rlock: once" {
  each_way to_rlock "$RLOCK_BIN" -k "$K"
}

@test "sent to rlock as process 1: once" {
  own_pids
  each_way to_first_process "${INSIDE[@]}" "$RLOCK_BIN" -k "$K"
}

@test "sent to the outer of two runs: once" {
  each_way to_rlock "$RLOCK_BIN" -k "$K" -- "$RLOCK_BIN" -k "$K:inner"
}

@test "sent to the whole group: once" {
  each_way to_group setsid --wait "$RLOCK_BIN" -k "$K"
}

@test "sent to the whole group of a run around a run: once" {
  each_way to_group setsid --wait "$RLOCK_BIN" -k "$K" -- "$RLOCK_BIN" -k "$K:inner"
}

@test "sent by the job to its own group: once" {
  each_way by_job setsid --wait "$RLOCK_BIN" -k "$K"
}

@test "sent to its own group by the job of an inner run: once" {
  each_way by_job setsid --wait "$RLOCK_BIN" -k "$K" -- "$RLOCK_BIN" -k "$K:inner"
}

@test "sent by process 1 to each process by itself, as systemd does: once" {
  own_pids
  each_way by_manager "${INSIDE[@]}" "$PYTHON" "$LIB/signal_each.py" "$T/order" "$RLOCK_BIN" -k "$K"
}

@test "sent to all processes that execute rlock's file, by another than a service manager: once" {
  each_way by_file setsid --wait "$RLOCK_BIN" -k "$K"
}

@test "a value that is sent along reaches the job" {
  counting "$RLOCK_BIN" -k "$K"
  /bin/kill --queue 42 -s USR1 "${PIDS[holder]}"
  wait_until logged 10=42
  /bin/kill --queue 7 -s RTMIN+3 "${PIDS[holder]}"
  wait_until logged 37=7
  ended_with '10=42 37=7'
}

@test "a value that is sent along reaches the job also when its guardian is below a debugger" {
  counting "$RLOCK_BIN" -k "$K"
  launch tracer "$PYTHON" "$LIB/stop_thread.py" "$(guardian_of holder)"
  wait_until says "$T/tracer.out" stopped
  # More than the line to the guardian takes: the rest goes to the job itself.
  "$PYTHON" -c 'import ctypes, sys
for i in range(400): ctypes.CDLL(None).sigqueue(int(sys.argv[1]), 37, ctypes.c_void_p(7))' "${PIDS[holder]}"
  wait_until says "$T/log" 37
  signal KILL tracer
  wait_until line_count_is "$T/log" 401
  run grep -cx 37=7 "$T/log"
  assert_output 400
  signal KILL holder
  finish holder
}

@test "real-time signals queue up: as many as were sent" {
  counting "$RLOCK_BIN" -k "$K"
  "$PYTHON" -c 'import os, sys
for i in range(500): os.kill(int(sys.argv[1]), 37)' "${PIDS[holder]}"
  wait_until line_count_is "$T/log" 501
  touch "$T/end"
  finish holder
  assert_equal "$status" 7
}

@test "a failed write of rlock's own is no signal for the job" {
  # shellcheck disable=SC2016
  launch holder bash -c '"$RLOCK_BIN" -k "$K" -t 1s --on-lost warn -- "$@" 2> >(exec true)' - \
    "$PYTHON" -c 'import signal, sys, time
signal.signal(signal.SIGPIPE, lambda *a: sys.exit(9))
open(sys.argv[1], "w").close()
end = time.monotonic() + 3
while time.monotonic() < end: time.sleep(0.05)
sys.exit(5)' "$T/started"
  wait_until test -e "$T/started"
  redis set "$K" thief >/dev/null
  finish holder
  assert_equal "$status" 5
}

@test "a wait ends of what would end any process, with 128+N, and of nothing else" {
  local number
  for number in 1 10 24 29 30 37; do
    redis set "$K" other px 60000
    launch waiter "$RLOCK_BIN" -k "$K" -w 60s -- touch "$T/ran"
    wait_queued "$K" 1
    kill -URG "${PIDS[waiter]}"
    kill -WINCH "${PIDS[waiter]}"
    sleep 0.1
    queued "$K" 1
    kill "-$number" "${PIDS[waiter]}"
    finish waiter
    assert_equal "$status" $((128 + number))
    wait_until queued "$K" 0
  done
  [[ ! -e $T/ran ]]
}
