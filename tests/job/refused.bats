#!/usr/bin/env bats
# A system that refuses newer calls: old kernels, profiles of containers, sandboxes.
load ../lib/rlock
load ../lib/refuse

# Each of these is used, and none is needed.
needless=(pidfd_open:EPERM pidfd_open:ENOSYS pidfd_send_signal:EPERM pidfd_send_signal:ENOSYS close_range:EPERM
  close_range:ENOSYS 'pidfd_open:EPERM pidfd_send_signal:EPERM rt_sigqueueinfo:EPERM close_range:EPERM')
# Without one of these rlock cannot keep its promises.
needed=(signalfd4:EPERM timerfd_create:EPERM timer_create:EPERM timer_create:ENOSYS)

# with_each CHECK CALL...: the calls refused one after the other
with_each() {
  local check=$1 refused
  shift
  for refused; do
    refuse "$refused"
    rm -f "$T"/job.* "$T"/holder.*
    echo "refused: $refused" # not ||, in which a failed command would not end the test
    "$check"
  done
}

# A tree of a shell, a child in the background and a daemon; each notes in $T/job.log what it hears.
start_tree() {
  # shellcheck disable=SC2016
  start holder -k "$K" "$@" -- bash -c '
    "$LIB/log-signals" "$T/job.log" "$T/job.end" 0 &
    setsid "$LIB/log-signals" "$T/job.log" "$T/job.end" 0 &
    trap "echo shell >>\"$T/job.log\"; wait; exit 3" TERM; wait; wait'
  wait_until heard started 2
}

heard() {
  local word=$1 count=$2
  [[ -e $T/job.log ]] && (($(grep -cx "$word" "$T/job.log") == count))
}

term_reaches_all() {
  start_tree
  signal TERM holder
  wait_until heard TERM 2
  wait_until heard shell 1
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 3
  assert_silent
  free "$K"
}

@test "TERM reaches the whole tree, and its code is the exit code" {
  with_each term_reaches_all "${needless[@]}"
}

cancel_reaches_all() {
  start_tree -t 60s --grace 20s
  wait_until listening 1
  start canceller cancel --wait 30s "$K"
  wait_until heard TERM 2
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 76
  finish canceller
  free "$K"
}

@test "a job that is cancelled hears TERM" {
  own_server
  with_each cancel_reaches_all pidfd_open:EPERM pidfd_send_signal:EPERM
}

lost_lock_reaches_all() {
  start_tree -t 3s --grace 1s
  redis del "$K" >/dev/null
  wait_until heard TERM 2
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 76
}

@test "a job whose lock is lost hears TERM" {
  with_each lost_lock_reaches_all pidfd_open:ENOSYS pidfd_send_signal:ENOSYS
}

stubborn_tree_is_killed() {
  # shellcheck disable=SC2016
  start holder -k "$K" -t 60s --grace 100ms -- bash -c 'trap "" TERM INT
    setsid "$LIB/until-file" "$T/never" & exec "$LIB/until-file" "$T/never"'
  wait_until line_count_is "$T/holder.out" 2
  redis del "$K" >/dev/null
  signal TERM holder
  signal INT holder
  finish holder
  assert_equal "$status" 137
  assert_equal "$(marked_processes)" ''
}

@test "a process that ignores TERM is killed, with its whole tree" {
  with_each stubborn_tree_is_killed "${needless[@]}"
}

killed_with_rlock() {
  start_tree -t 60s
  local job
  job=$(job_of holder)
  signal KILL holder
  wait_until gone "$job"
  wait_until nothing_runs
  redis del "$K" >/dev/null
}

@test "kill -9 of rlock takes the job along, kill -9 of the guardian too" {
  with_each killed_with_rlock "${needless[@]}"
  with_each killed_with_the_guardian "${needless[@]}"
}

killed_with_the_guardian() {
  start_tree -t 60s
  kill -KILL "$(guardian_of holder)"
  finish holder
  assert_equal "$status" 137
  assert_equal "$(marked_processes)" ''
}

inner_job_hears_once() {
  launch holder "$RLOCK_BIN" -k "$K" -- "$RLOCK_BIN" -k "$K-2" -- "$LIB/log-signals" "$T/job.log" "$T/job.end" 7
  wait_until heard started 1
  signal TERM holder
  wait_until heard TERM 1
  sleep 0.3 # a second one would have come by then
  touch "$T/job.end"
  finish holder
  assert_equal "$status" 7
  heard TERM 1
}

@test "the job of a run inside a run hears TERM once" {
  with_each inner_job_hears_once pidfd_open:EPERM pidfd_send_signal:EPERM pidfd_send_signal:ENOSYS
}

file_lock_passes_on() {
  attempt -S "file://$T/locks" -k "$K" -- true
  assert_success
  attempt -S "file://$T/locks" -k "$K" -- sh -c 'exit 4'
  assert_equal "$status" 4
}

@test "a file: lock is free when rlock has ended" {
  with_each file_lock_passes_on "${needless[@]}"
}

begins_nothing() {
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 71
  assert_one_stderr_line ''
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "a missing system call that rlock needs is noticed before the job begins: 71, and nothing is held" {
  with_each begins_nothing "${needed[@]}"
}

@test "doctor tells that signals go by number" {
  refuse pidfd_send_signal:EPERM
  attempt doctor
  assert_success
  assert_line --regexp '^warn +processes +pidfd_send_signal is refused: signals go by number$'
  refuse pidfd_open:EPERM
  attempt doctor
  assert_line --regexp '^ok +processes '
}

@test "a member that may not be signalled is named, once" {
  ((EUID == 0)) || skip 'it takes root to run a part of the job as another user'
  hold_unkillable holder -t 60s
  signal TERM holder
  wait_until says "$T/holder.err" cannot
  sleep 0.3
  kill "$(<"$T/other")"
  finish holder
  assert_equal "$status" 143
  assert_stderr_line "cannot send SIGTERM to process $(<"$T/other") of the job: Operation not permitted"
  assert_equal "$(grep -c 'cannot send' "$T/holder.err")" 1
}
