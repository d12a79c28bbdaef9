#!/usr/bin/env bats
# --local-gate: of those who wait on a host, one does so at the server.
load ../../lib/rlock
load ../../lib/namespaces


connections() {
  redis client list | grep -vc 'cmd=client'
}

has_connections() {
  local count=$1
  (($(connections) == count))
}

# wait_at_server NAME COMMAND...: NAME passed the gate, and waits first in the server's queue.
wait_at_server() {
  local name=$1
  shift
  start "$name" --local-gate -k "$K" -w 60s -- "$@"
  wait_queued "$K" 1
}

# wait_at_gate NAME COMMAND...: NAME waits behind the run that has passed it.
wait_at_gate() {
  local name=$1
  shift
  start "$name" --local-gate -k "$K" -w 60s -- "$@"
  wait_until says "$T/$name.err" 'waiting for'
}

@test "many wait, and one of them is connected" {
  local number without
  own_server
  hold holder -k "$K"
  for number in {1..40}; do
    start "w$number" -v --local-gate -k "$K" -w 60s -- sh -c "echo x >>'$T/ran'"
  done
  for number in {1..40}; do
    wait_until says "$T/w$number.err" 'waiting for'
  done
  # On a busy machine some may reach the gate too late, and say so.
  without=$(cat "$T"/w*.err | grep -c 'without the local gate' || true)
  assert_less "$without" 10
  # The holder has two: it listens once its job has lasted for a second.
  wait_until has_connections $((3 + without))
  queued "$K" $((1 + without))
  let_go holder
  for number in {1..40}; do
    finish "w$number"
    assert_success
  done
  assert_equal "$(wc -l <"$T/ran")" 40
}

@test "a waiter behind the gate is told so" {
  hold holder -k "$K"
  wait_at_server first true
  start second --local-gate -k "$K" -w 60s -- true
  wait_until says "$T/second.err" 'of this host'
  says "$T/second.err" 'position 2'
  let_go holder
  finish first
  assert_success
  finish second
  assert_success
}

@test "hosts come in turns, however many wait on one of them" {
  local number
  own_server
  hold holder -k "$K"
  for number in 1 2 3; do
    start "a$number" --local-gate -k "$K" -w 60s -- sh -c "echo a >>'$T/order'"
    wait_until says "$T/a$number.err" 'waiting for'
  done
  # Another host: its own directory of gates.
  start b -k "$K" -w 60s -- sh -c "echo b >>'$T/order'"
  wait_queued "$K" 2
  let_go holder
  for number in a1 a2 a3 b; do
    finish "$number"
    assert_success
  done
  assert_equal "$(paste -sd ' ' "$T/order")" 'a b a a'
}

@test "a process that leaves the gate, or is killed at it or at the server, blocks no other" {
  hold holder -k "$K"
  wait_at_server head touch "$T/ran"
  wait_at_gate left touch "$T/ran"
  wait_at_gate dead touch "$T/ran"
  wait_at_gate last echo 'my turn'
  signal TERM left
  finish left
  assert_equal "$status" 143
  signal KILL dead
  signal KILL head
  wait_until gone "${PIDS[head]}"
  let_go holder
  finish last
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
}

@test "a wait at the gate ends in time, and a single attempt does not wait there" {
  hold holder -k "$K"
  wait_at_server head true
  attempt --local-gate -k "$K" -w 300ms -- touch "$T/ran"
  assert_equal "$status" 75
  attempt --local-gate -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line 'is held by'
  let_go holder
  finish head
  assert_success
  [[ ! -e $T/ran ]]
}

@test "options whose effect the gate would hide are refused together with it, and so is file:" {
  attempt --local-gate --max-waiters 3 -w 1s -k "$K" -- true
  assert_equal "$status" 64
  assert_one_stderr_line '--max-waiters'
  attempt --local-gate --supersede -k "$K" -- true
  assert_equal "$status" 64
  attempt --local-gate -S file: -k "$K" -- true
  assert_equal "$status" 64
  assert_one_stderr_line '--local-gate'
}

@test "nothing is left of a gate that nobody waits at" {
  local place
  own_server
  hold holder -k "$K"
  wait_at_server waiter true
  place=$(readlink "/proc/${PIDS[waiter]}/fd/"* | grep -m 1 -F '/.gates/')
  place=${place%/*}
  [[ -d $place ]]
  let_go holder
  finish waiter
  assert_success
  [[ ! -e $place && ! -e ${place%/*} ]]
}

@test "a process that was stopped at the gate is passed" {
  hold holder -k "$K"
  wait_at_server head true
  wait_at_gate stuck true
  wait_at_gate waiter echo 'my turn'
  signal STOP stuck
  let_go holder
  finish head
  PATIENCE=8 wait_until gone "${PIDS[waiter]}"
  finish waiter
  assert_output 'my turn'
  signal CONT stuck
  finish stuck
  assert_success
}

@test "a process that was stopped while it waits at the server for all behind the gate is passed" {
  hold holder -k "$K"
  wait_at_server stuck true
  wait_at_gate waiter echo 'my turn'
  signal STOP stuck
  wait_queued "$K" 2
  let_go holder
  finish waiter
  assert_output 'my turn'
  signal CONT stuck
  finish stuck
  assert_success
}

@test "two that were stopped, at the server and behind it, are passed" {
  hold holder -k "$K"
  wait_at_server one true
  wait_at_gate other true
  wait_at_gate waiter echo 'my turn'
  signal STOP one
  signal STOP other
  let_go holder
  PATIENCE=20 wait_until gone "${PIDS[waiter]}"
  finish waiter
  assert_output 'my turn'
  signal CONT one
  signal CONT other
  finish one
  assert_success
  finish other
  assert_success
}

@test "a process that waits at the server and answers is not passed, however long that takes" {
  own_server
  hold holder -k "$K"
  wait_at_server head true
  wait_at_gate second true
  sleep 4
  queued "$K" 1
  has_connections 3
  let_go holder
  finish head
  finish second
  assert_success
}

# nowhere_to_write RLOCK OPTION...: rlock where neither /run nor /tmp can be written to; output and stderr in $T.
nowhere_to_write() {
  own_mounts
  # shellcheck disable=SC2016
  attempt_in "${INSIDE[@]}" sh -c 'for place in /run /run/lock /run/user/"$(id -u)" /tmp; do
      [ ! -d $place ] || { mount --bind $place $place && mount -o remount,bind,ro $place; } || exit 99
    done
    exec "$RLOCK_BIN" "$@"' sh "$@"
}

attempt_in() {
  status=0
  env --default-signal "$@" >"$T/attempt.out" 2>"$T/attempt.err" 3>&- || status=$?
  output=$(<"$T/attempt.out")
  stderr=$(<"$T/attempt.err")
}

@test "where no directory can be made for the gate, a waiter goes without, and says so with -v" {
  nowhere_to_write --local-gate -k "$K" -w 5s -- echo ran
  assert_success
  assert_output ran
  assert_silent
  nowhere_to_write -v --local-gate -k "$K" -w 5s -- echo ran
  assert_success
  assert_stderr_line 'without the local gate: '
  hold holder -k "$K"
  nowhere_to_write --local-gate -k "$K" -w 300ms -q -- echo ran
  assert_equal "$status" 75
  let_go holder
}

@test "where somebody was stopped at the files of the gate, a waiter goes without after some seconds" {
  local ledger
  hold holder -k "$K"
  wait_at_server head true
  ledger=$(readlink "/proc/${PIDS[head]}/fd/"* | grep -m 1 -F '/.gates/')
  ledger=${ledger%/*}/ledger
  launch stopped flock --no-fork "$ledger" sleep 60
  wait_until locked "$ledger"
  start waiter --local-gate -k "$K" -w 60s -- true
  wait_queued "$K" 2
  signal TERM stopped
  let_go holder
  finish head
  finish waiter
  assert_success
}

locked() {
  local file=$1
  ! flock -n "$file" true
}

# in_own_run SCRIPT: bash with an empty /run of its own
in_own_run() {
  own_mounts
  attempt_in "${INSIDE[@]}" bash -euc "mount -t tmpfs -o mode=755 tmpfs /run; $1"
}

@test "with any file in the place of the gate's directories and files, a waiter goes without, and touches nothing else" {
  # The name of the directory of this server's gates: FNV-1a.
  GATES=$("$PYTHON" -c 'import os; h = 0xcbf29ce484222325
for c in os.environ["RLOCK_SERVER"].encode(): h = (h ^ c) * 0x100000001b3 % 2**64
print("%016x" % h)')
  export GATES
  # shellcheck disable=SC2016
  in_own_run '
    mkdir -m 700 /run/elsewhere
    echo precious >/run/elsewhere/ledger
    mkfifo -m 600 "/run/elsewhere/pipe"
    state() { find /run/elsewhere -printf "%P %m %U %T@\n" | sort; cat /run/elsewhere/ledger; }
    before=$(state)
    tries=0
    for place in /.gates "/.gates/$GATES" "/.gates/$GATES/$K" "/.gates/$GATES/$K/ledger"; do
      for what in "ln -s /run/elsewhere" "ln -s /run/elsewhere/ledger" "ln -s /run/nothing" "ln -s /dev/zero" \
        "ln /run/elsewhere/ledger" mkfifo touch; do
        [[ $what$place != touch*/ledger ]] || continue
        rm -rf /run/rlock
        path=/run/rlock$place
        (umask 077 && mkdir -p "${path%/*}" && $what "$path")
        timeout -s KILL 20 "$RLOCK_BIN" -v --local-gate -k "$K" -w 10s -- echo ran 2>/run/said | grep -qx ran &&
          grep -q "without the local gate: .*/run/rlock" /run/said || {
          echo "with $what in the place of $path: $(</run/said)"
          exit 1
        }
        [[ $(state) == "$before" && ! -e /run/nothing ]] || {
          echo "$what in the place of $path: $(state)"
          exit 1
        }
        tries=$((tries + 1))
      done
    done
    rm -rf /run/rlock
    "$RLOCK_BIN" -v --local-gate -k "$K" -w 10s -- echo ran 2>/run/said
    ! grep "without the local gate" /run/said
    echo $tries'
  assert_equal "$output" $'ran\n27'
  assert_success
}
