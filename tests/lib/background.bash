# shellcheck shell=bash
# rlock and other commands in the background, by name: start, hold, queue_up, signal, finish.

declare -gA PIDS=()

# launch NAME COMMAND [ARG...]: in the background, signals at their defaults (a shell without job
# control starts background commands with INT and QUIT ignored), output in $T/NAME.out and .err.
launch() {
  local name=$1
  shift
  : >"$T/$name.out" # what an earlier one said is not to be taken for its word before it is there
  : >"$T/$name.err"
  env --default-signal "$@" </dev/null >"$T/$name.out" 2>"$T/$name.err" 3>&- &
  PIDS[$name]=$!
}

start() {
  local name=$1
  shift
  launch "$name" "$RLOCK_BIN" "$@"
}

# hold NAME [RLOCK OPTION...]: rlock with a job that runs until `let_go NAME`; returns when the job runs.
hold() {
  local name=$1
  shift
  rm -f "$T/$name.go"
  start "$name" "$@" -- "$LIB/until-file" "$T/$name.go"
  wait_until says "$T/$name.out" started
}

let_go() {
  local name=$1
  touch "$T/$name.go"
  finish "$name"
}

# reserve NAME KEY: NAME lets go of KEY, and the waiter that is woken for it may be stopped: what it has reserved stays so
# for a minute, where two seconds could pass before the next question is asked.
reserve() {
  local name=$1 key=$2 holder
  holder=$(redis get "$key")
  touch "$T/$name.go"
  wait_until passed_on "$key" "$holder"
  redis pexpire "$key" 60000 >/dev/null
  redis zadd "$(companion "$key" alive)" XX "$(($(now_ms) + 60000))" "$(redis get "$key")" >/dev/null
  finish "$name"
}

passed_on() {
  local key=$1 from=$2 now
  now=$(redis get "$key")
  [[ -n $now && $now != "$from" ]]
}

# hold_stubborn NAME [RLOCK OPTION...]: a job that ignores TERM and writes the time (µs) into $T/beat all the while.
hold_stubborn() {
  local name=$1
  shift
  start "$name" -k "$K" "$@" -- bash -c 'trap "" TERM; exec 9<> <(:)
    while :; do echo "${EPOCHREALTIME/[.,]/}" >>"$T/beat"; read -rt 0.005 -u 9; done'
  wait_until says "$T/beat" 1
}

# hold_unkillable NAME [RLOCK OPTION...]: a part of the job belongs to another user, and rlock may signal root's only. Its
# number is in $T/other.
hold_unkillable() {
  local name=$1
  shift
  # root without CAP_KILL
  # shellcheck disable=SC2016
  launch "$name" setpriv --bounding-set=-kill --inh-caps=-kill "$RLOCK_BIN" -k "$K" --grace 100ms "$@" -- \
    sh -c 'setpriv --reuid=65534 --clear-groups sleep 300 & echo $! >"$T/other"; echo started; wait'
  wait_until says "$T/$name.out" started
  wait_until is_of_user "$(<"$T/other")" 65534
}

# queue_up NAME KEY PLACE [RLOCK OPTION...] -- COMMAND: a waiter that stands in the queue.
queue_up() {
  local name=$1 key=$2 place=$3
  shift 3
  start "$name" -k "$key" -w 60s "$@"
  wait_queued "$key" "$place"
}

# The process that rlock NAME runs.
job_of() {
  local name=$1
  first_child "$(guardian_of "$name")"
}

# The text between the two.
guardian_of() {
  local name=$1
  first_child "${PIDS[$name]}"
}

first_child() {
  local pid=$1 children
  children=$(<"/proc/$pid/task/$pid/children")
  echo "${children%% *}"
}

# finish NAME: waits for its end; sets status, output and stderr as `run --separate-stderr` does.
finish() {
  local name=$1
  wait_until gone "${PIDS[$name]}"
  status=0
  wait "${PIDS[$name]}" || status=$?
  output=$(<"$T/$name.out")
  stderr=$(<"$T/$name.err")
  mapfile -t lines <"$T/$name.out"
}

signal() {
  local signal=$1 name=$2
  kill "-$signal" "${PIDS[$name]}"
}
