#!/usr/bin/env bats
# Somebody stops or interrupts rlock or its guardian while the command is loaded: the lock is not free before all that the
# command started is gone.
load ../lib/rlock
load ../lib/loading

# A job that stays, and a daemon of it that notes its pid in $T/daemon.
with_daemon() {
  # shellcheck disable=SC2016
  hanging_command 'setsid sh -c '\''echo $$ >"$T/daemon"; while :; do sleep 0.05; done'\'' & wait'
}

# stop_loading NAME: the guardian of NAME stops as soon as the command is loaded, and before it reports that.
stop_loading() {
  local name=$1
  wait_until loading "$name"
  kill -STOP "$GUARDIAN"
}

daemon_runs() { [[ -s $T/daemon ]]; }

@test "a guardian that is stopped while the command is loaded is continued, and the job's code is the exit code" {
  # shellcheck disable=SC2016
  hanging_command 'exec "$LIB/until-file" "$T/holder.go" 7'
  start holder -k "$K" --ttl 60s -- "$T/slow"
  stop_loading holder
  break_lease
  wait_until says "$T/holder.out" started
  let_go holder
  assert_equal "$status" 7
  free "$K"
}

@test "a guardian that is stopped while the command is loaded, and TERM: the lock is free when the daemon is gone" {
  with_daemon
  start holder -k "$K" --ttl 60s --grace 1s -- "$T/slow"
  stop_loading holder
  sleep 1.2 # from then on rlock listens to signals
  break_lease
  wait_until daemon_runs
  signal TERM holder
  finish holder
  assert_equal "$status" 143
  gone "$(<"$T/daemon")"
  free "$K"
}

@test "rlock and its guardian are stopped while the command is loaded, beyond the lease: nothing is left when rlock ends" {
  with_daemon
  start holder -k "$K" --ttl 6s -- "$T/slow"
  wait_until loading holder
  signal STOP holder
  wait_until in_state "${PIDS[holder]}" T
  stop_loading holder
  break_lease
  wait_until daemon_runs
  wait_free "$K"
  signal CONT holder
  finish holder
  assert_equal "$status" 76
  gone "$(<"$T/daemon")"
}

@test "^Z while the command is loaded stops rlock, and fg continues both" {
  # shellcheck disable=SC2016
  hanging_command 'exec "$LIB/until-file" "$T/holder.go" 7'
  # rlock, its guardian and the process that loads the command
  printf '[[ $(pgrep -cf -- "-k %s --ttl ") == 3 ]]\n' "$K" >"$T/loading"
  interactive_shell
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K --ttl 60s -- \$T/slow\\r" "until bash '$T/loading'" 'send \x1a' \
    'expect Stopped' 'expect ready>' 'send fg\r' "run kill ${PIDS[leaseholder]}" 'expect started' "run touch '$T/holder.go'" \
    'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 7
  free "$K"
}

@test "^Z that reaches the job before rlock knows that it began: both stay stopped until fg, and are not stopped again" {
  # shellcheck disable=SC2016
  hanging_command 'echo $$ >"$T/pid"; exec "$LIB/until-file" "$T/holder.go" 7'
  cat >"$T/steps" <<'SH'
rlock=$(pgrep -of -- "-k $K --ttl ")
job_is() { grep -q "^State:.$1" "/proc/$(<"$T/pid")/status"; }
case $1 in
  loading) [[ $(pgrep -cf -- "-k $K --ttl ") == 3 ]] ;;
  trace)
    "$PYTHON" "$LIB/stop_thread.py" "$rlock" >"$T/tracer.out" 2>&1 </dev/null &
    echo "$!" >"$T/tracer"
    until grep -qs stopped "$T/tracer.out"; do sleep 0.02; done
    ;;
  *) job_is "$1" ;;
esac
SH
  interactive_shell
  run in_terminal 'expect ready>' "send \$RLOCK_BIN -k \$K --ttl 60s -- \$T/slow\\r" "until bash '$T/steps' loading" \
    "run bash '$T/steps' trace" "run kill ${PIDS[leaseholder]}" 'expect started' 'send \x1a' "until bash '$T/steps' T" \
    "run kill \$(<'$T/tracer')" 'expect Stopped' 'expect ready>' 'run sleep 0.3' "run bash '$T/steps' T" 'send fg\r' \
    "until bash '$T/steps' S" 'run sleep 0.3' "run touch '$T/holder.go'" 'expect ready>' 'send exit $?\r' -- "${SHELL_THERE[@]}"
  assert_equal "$status" 7
  free "$K"
}
