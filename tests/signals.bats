#!/usr/bin/env bats
# Signals sent to rlock reach the job; TERM and INT reach its whole tree.
load lib/rlock

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
  kill -STOP "$(pgrep_job)"
  wait_until in_state "$(pgrep_job)" T
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
  signal TERM holder
  finish holder
  assert_equal "$status" 137
  free "$K"
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

@test "nohup rlock survives a hangup while it waits, too" {
  redis set "$K" other px 60000
  launch waiter env --ignore-signal=HUP "$RLOCK_BIN" -k "$K" -w 60s -- echo ran
  wait_queued "$K" 1
  signal HUP waiter
  redis del "$K"
  finish waiter
  assert_success
  assert_output ran
}

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

@test "what ignores TERM in the tree is killed after the grace" {
  start holder -k "$K" -t 2s --grace 200ms -- bash -c '
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

@test "a job that is stopped is continued to get its TERM" {
  start_logger holder
  kill -STOP "$(pgrep_job)"
  wait_until in_state "$(pgrep_job)" T
  signal TERM holder
  wait_until says "$T/job.log" TERM
  end_logger holder
  assert_equal "$status" 7
}

# The job of the background rlock named holder.
pgrep_job() {
  local children
  children=$(</proc/"${PIDS[holder]}"/task/"${PIDS[holder]}"/children)
  echo "${children%% *}"
}

@test "a lost lock ends a stopped job, too" {
  start holder -k "$K" -t 600ms -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  kill -STOP "$(pgrep_job)"
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

@test "a signal between grant and start is not lost: the job never runs past it" {
  local round
  for round in {1..20}; do
    start "holder-$round" -k "$K:$round" -- sh -c 'sleep 300'
    until [[ /proc/${PIDS[holder-$round]}/exe -ef $RLOCK_BIN ]]; do :; done
    sleep "0.000$((RANDOM % 10))"
    signal TERM "holder-$round"
    finish "holder-$round"
    assert_equal "$status" 143
    free "$K:$round"
  done
}
