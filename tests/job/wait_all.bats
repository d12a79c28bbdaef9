#!/usr/bin/env bats
# --wait-all: the lock is held until every descendant of the job is gone.
load ../lib/rlock

# leave_behind NAME OPTION...: a job that ends with 3 and leaves a daemon that runs until $T/daemon.go is there.
leave_behind() {
  local name=$1
  shift
  start "$name" -k "$K" "$@" -- sh -c 'echo $$ >"$T/job.pid"; setsid "$LIB/until-file" "$T/daemon.go" >"$T/daemon" & exit 3'
  wait_until says "$T/daemon" started
}

@test "a daemon keeps the lock, and the job's exit code is the exit code" {
  leave_behind job --wait-all
  sleep 0.3
  held "$K"
  process_alive "${PIDS[job]}"
  touch "$T/daemon.go"
  finish job
  assert_equal "$status" 3
  free "$K"
}

@test "without it nothing that was left behind does" {
  leave_behind job
  finish job
  assert_equal "$status" 3
  free "$K"
  touch "$T/daemon.go"
  wait_until nothing_runs
}

@test "a child in the background counts as well, and a grandchild" {
  attempt -k "$K" --wait-all -- sh -c 'sh -c "sleep 0.3; echo later >>\"$T/order\"" & (sh -c "sleep 0.2; echo soon >>\"$T/order\"" &) ; exit 0'
  assert_success
  assert_equal "$(sort "$T/order")" $'later\nsoon'
  free "$K"
}

@test "the lease is refreshed meanwhile" {
  leave_behind job --wait-all --ttl 5s --grace 100ms
  sleep 6 # longer than a lease
  held "$K"
  touch "$T/daemon.go"
  finish job
  assert_equal "$status" 3
}

@test "should the lock be lost meanwhile, the rest is stopped, and that is 76" {
  leave_behind job --wait-all --ttl 3s
  redis set "$K" thief px 60000
  finish job
  assert_equal "$status" 76
  assert_one_stderr_line "lost the lock '$K'"
  assert_equal "$(marked_processes)" ''
}

@test "TERM to rlock reaches the rest" {
  leave_behind job --wait-all
  wait_until gone "$(<"$T/job.pid")"
  signal TERM job
  finish job
  assert_equal "$status" 3
  assert_equal "$(marked_processes)" ''
  free "$K"
}

@test "cancel stops the rest" {
  own_server
  leave_behind job --wait-all
  wait_until listening 1
  attempt cancel "$K"
  assert_success
  finish job
  assert_equal "$status" 76
  assert_equal "$(marked_processes)" ''
}

@test "^C and ^\\ at the terminal stop what the command left behind" {
  local key
  for key in '\x03' '\x1c'; do
    # A key that comes as the command ends was for the command.
    run in_terminal "until test -s '$T/left' && ! kill -0 \$(cat '$T/left') && sleep 0.3" "send $key" -- \
      "$RLOCK_BIN" -k "$K" --wait-all -- sh -c 'sleep 300 & echo $$ >"$T/left"; exit 3'
    assert_equal "$status" 3
    assert_equal "$(marked_processes)" ''
    free "$K"
    rm "$T/left"
  done
}
