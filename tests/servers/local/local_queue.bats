#!/usr/bin/env bats
# The line at a lock of this host: who comes, who goes, and who dies in it.
load ../../lib/rlock
load ../../lib/local
load ../../lib/namespaces

@test "the files of killed processes are removed by the next one" {
  local number
  hold holder -k "$K" --history 0
  for number in 1 2 3; do
    start "w$number" -k "$K" -w 60s -- true
    wait_until in_line "$number"
  done
  for number in w1 w2 w3 holder; do
    signal KILL "$number"
    wait_until gone "${PIDS[$number]}"
  done
  touch "$T/holder.go"
  attempt -k "$K" -w 60s -q --history 0 -- true # the holder's guardian may still be at it
  assert_success
  assert_equal "$(find "$T/locks" -type p -o -type f | wc -l)" 1
}

@test "the end of one in the middle of the line is heard as well" {
  hold holder -k "$K"
  start dead -k "$K" -w 60s -- true
  wait_until in_line 1
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 2
  signal KILL dead
  wait_until gone "${PIDS[dead]}"
  wait_until in_line 1
  let_go holder
  finish waiter
  assert_success
}

@test "the last of many readers lets the writer in, however they end" {
  local number
  for number in {1..8}; do
    hold "r$number" -k "$K" --shared
  done
  start writer -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  for number in {1..8}; do
    if ((number % 2)); then
      signal KILL "r$number"
      wait_until gone "${PIDS[r$number]}"
      touch "$T/r$number.go"
    else
      let_go "r$number"
    fi
  done
  finish writer
  assert_output 'my turn'
}

@test "readers, writer, readers: nobody starves, and readers run together" {
  readers_and_writer_in_turn
}

@test "readers that waited begin together, however many they are" {
  local number from
  hold writer -k "$K"
  for number in {1..5}; do
    start_reader "r$number"
    wait_until in_line "$number"
  done
  from=$(now_ms)
  let_go writer
  for number in {1..5}; do
    wait_until says "$T/r$number.out" started
  done
  assert_less $(($(now_ms) - from)) 2000
  for number in {1..5}; do
    let_go "r$number"
    assert_success
  done
}

@test "a permit of a killed holder is given on" {
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  start three -k "$K" -w 60s --permits 2 -- echo 'my turn'
  wait_until in_line 1
  signal KILL one
  finish three
  assert_output 'my turn'
  touch "$T/one.go"
  let_go two
}

@test "a permit of a killed holder is given on, also to who waited behind one that got a permit meanwhile" {
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  start three -k "$K" -w 60s --permits 2 -- "$LIB/until-file" "$T/three.go"
  wait_until in_line 1
  start four -k "$K" -w 60s --permits 2 -- echo 'my turn'
  wait_until in_line 2
  let_go one
  wait_until says "$T/three.out" started
  signal KILL two
  finish four
  assert_output 'my turn'
  let_go three
}

@test "a newcomer reads as many files in a long queue as in a short one" {
  local number short
  hold holder -k "$K"
  for number in 1 2; do
    start "w$number" -k "$K" -w 60s -- true
  done
  wait_until in_line 2
  short=$(reads_to_join)
  for number in {3..30}; do
    start "w$number" -k "$K" -w 60s -- true
  done
  wait_until in_line 30
  assert_less "$(reads_to_join)" $((short + 10))
  let_go holder
  for number in {1..30}; do
    finish "w$number"
    assert_success
  done
}

# How often one that joins the line, and then gives up, calls read(2).
reads_to_join() {
  start joiner -k "$K" -w 60s -- true
  wait_until says "$T/joiner.err" 'waiting for'
  sed -n 's/^syscr: //p' "/proc/${PIDS[joiner]}/io"
  signal TERM joiner
  finish joiner
}

@test "a claim that cannot enter the queue, because a process was stopped at it, ends on ^C and does not wait for ever" {
  local interrupted
  attempt -k "$K" -- true
  launch stopped flock --no-fork "$(find "$T/locks" -name ledger)" sleep 60
  wait_until stuck
  start waiter -k "$K" -w 60s -- touch "$T/ran"
  attempt -k "$K" -w 300ms -- touch "$T/ran"
  assert_equal "$status" 69
  assert_stderr_line 'another process keeps it locked'
  interrupted=$(now_ms)
  signal INT waiter
  finish waiter
  assert_equal "$status" 130
  assert_less $(($(now_ms) - interrupted)) 15000
  [[ ! -e $T/ran ]]
  signal TERM stopped
}

stuck() {
  ! flock -n "$(find "$T/locks" -name ledger)" true
}

@test "the first in line watches who holds now, also after one that it watched was removed" {
  hold writer -k "$K"
  start_reader one
  wait_until in_line 1
  start_reader stuck
  wait_until in_line 2
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 3
  let_go writer
  wait_until says "$T/stuck.out" started
  signal STOP stuck
  attempt force-release --yes --wait 100ms "$K" --token "$(token_of stuck)"
  assert_success
  signal KILL one
  finish waiter
  assert_success
  signal CONT stuck
  finish stuck
}

# A reader whose job runs until `let_go NAME`; it may have to wait before.
start_reader() {
  local name=$1
  start "$name" -k "$K" -w 60s --shared --label "$name" -- "$LIB/until-file" "$T/$name.go"
}

token_of() {
  local label=$1
  json "[each['token'] for each in d['holders'] if '$label' in each['token']][0]" inspect --json "$K"
}

@test "a waiter of a directory that was removed takes no place in the new one" {
  hold old -k "$K" --ttl 500ms
  start stuck -k "$K" -w 60s -- true
  wait_until in_line 1
  start late -k "$K" -w 4s -- true
  wait_until in_line 2
  signal STOP stuck # or the one behind it would hear of the loss
  rm -r "$T/locks"
  finish old
  hold new -k "$K"
  for name in second third; do
    start "$name" -k "$K" -w 60s -- true
  done
  wait_until in_line 2
  finish late
  wait_until in_line 2
  let_go new
  for name in second third; do
    finish "$name"
    assert_success
  done
  end_leftovers
}

@test "cancel reaches all of more readers than it may have files open" {
  local number
  for number in {1..24}; do
    start_reader "r$number"
    wait_until says "$T/r$number.out" started
  done
  run bash -c "ulimit -n 20; exec '$RLOCK_BIN' cancel '$K' --wait 30s"
  assert_success
  for number in {1..24}; do
    finish "r$number"
    assert_equal "$status" 76
    assert_stderr_line 'cancelled by'
  done
}

@test "a waiter that was stopped is passed, and claims again when it is continued" {
  hold holder -k "$K"
  start stuck -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  start waiter -k "$K" -w 60s -- "$LIB/until-file" "$T/waiter.go"
  wait_until in_line 2
  signal STOP stuck
  let_go holder
  PATIENCE=6 wait_until says "$T/waiter.out" started
  signal CONT stuck
  sleep 0.3
  assert_equal "$(<"$T/stuck.out")" ''
  let_go waiter
  finish stuck
  assert_output 'my turn'
}

@test "several waiters that were stopped are passed, also by one that does not wait, and at each turn" {
  local number
  hold holder -k "$K"
  for number in 1 2 3; do
    start "stuck$number" -k "$K" -w 60s -- true
    wait_until in_line "$number"
  done
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 4
  start last -k "$K" -w 60s -- true
  wait_until in_line 5
  for number in 1 2 3; do
    signal STOP "stuck$number"
  done
  let_go holder
  PATIENCE=16 wait_until gone "${PIDS[waiter]}"
  finish waiter
  assert_success
  PATIENCE=6 wait_until gone "${PIDS[last]}"
  attempt -k "$K" -- echo ran
  assert_output ran
  for number in 1 2 3; do
    signal CONT "stuck$number"
    finish "stuck$number"
    assert_success
  done
}

@test "nobody is passed who answers, however long the lock is held" {
  hold holder -k "$K"
  start first -k "$K" -w 60s -- sh -c "echo first >>'$T/order'"
  wait_until in_line 1
  start second -k "$K" -w 60s -- sh -c "echo second >>'$T/order'"
  wait_until in_line 2
  sleep 3
  let_go holder
  finish first
  finish second
  assert_equal "$(paste -sd ' ' "$T/order")" 'first second'
}

@test "a long wait on this host needs little memory, and the turn comes as before" {
  hold holder -k "$K"
  start waiter -k "$K" -w 60s -q -- echo ran
  wait_until in_line 1
  gives_back_memory waiter
  let_go holder
  finish waiter
  assert_success
  assert_output ran
}

@test "a holder whose pipe got a second name, as a backup makes one, holds on" {
  local pipe
  hold holder -k "$K"
  pipe=$(find "$T/locks" -type p)
  ln "$pipe" "$T/backup"
  attempt -k "$K" -q -- touch "$T/ran"
  assert_equal "$status" 75
  start waiter -k "$K" -w 60s -- echo 'my turn'
  wait_until in_line 1
  let_go holder
  assert_success
  finish waiter
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
}

@test "a superseded waiter that was about to look at the lock hears of it, and supersedes nobody" {
  hold holder -k "$K"
  start old -k "$K" -w 60s --supersede=waiting -- touch "$T/ran"
  wait_until in_line 1
  launch locker flock --no-fork "$T/locks/$K/ledger" sleep 60
  wait_until stuck
  printf '\nlook\n' >"$(find "$T/locks" -name '*2' -type p)"
  sleep 0.5 # it waits for the ledger now
  signal STOP old
  signal TERM locker
  wait_until free_ledger
  start new -k "$K" -w 60s --supersede=waiting -- echo 'my turn'
  wait_until says "$T/new.err" 'waiting for'
  signal CONT old
  finish old
  assert_equal "$status" 75
  assert_stderr_line 'superseded by'
  let_go holder
  finish new
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
}

free_ledger() {
  ! stuck
}

@test "a stopped waiter is passed, also after the clock was set back" {
  hold holder -k "$K"
  start stuck -k "$K" -w 60s -- true
  wait_until in_line 1
  start waiter -k "$K" -w 60s -- true
  wait_until in_line 2
  signal STOP stuck
  let_go holder
  # The word for the stopped one was posted an hour from now.
  touch -cd '+1 hour' "$(find "$T/locks" -name '*2' -type p)"
  PATIENCE=10 wait_until gone "${PIDS[waiter]}"
  finish waiter
  assert_success
  signal CONT stuck
  finish stuck
}

@test "on a full disk a newer claim supersedes nobody" {
  own_mounts
  mkdir "$T/locks"
  # shellcheck disable=SC2016
  run -0 "${INSIDE[@]}" bash -c '
    mount -t tmpfs -o size=1m,nr_inodes=20,mode=700 tmpfs "$T/locks"
    "$RLOCK_BIN" -k "$K" -- sh -c "echo started; exec sleep 3" >"$T/started" &
    until [[ -s $T/started ]]; do sleep 0.1; done
    for ((i = 0; i < 20; i++)); do : >"$T/locks/fill$i"; done 2>"$T/full"
    "$RLOCK_BIN" -k "$K" -w 1s --supersede -- touch "$T/ran" || echo "superseder $?"
    wait "$!" && echo "holder $?"' 3>&-
  assert_output --partial 'superseder 69'
  assert_output --partial 'holder 0'
  [[ ! -e $T/ran ]]
}
