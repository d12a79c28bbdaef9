#!/usr/bin/env bats
# The library and the program are one lock: they exclude each other, wait in one queue, and see and reach each other.
# stores: redis quorum postgres zookeeper etcd local
load ../lib/rlock
load ../lib/stores
load ../lib/contract_stories

# guard NAME [OPTION...]: returns once the library has the lock for it.
guard() {
  local name=$1
  shift
  want "$name" "$@"
  wait_until says "$T/$name.out" started
}

# want NAME [OPTION...]: a job under the library's lock, which ends once $T/NAME.go is there
want() {
  local name=$1
  shift
  rm -f "$T/$name.go"
  # shellcheck disable=SC2016 # the job's shell expands it
  launch "$name" "${RLOCK_BIN%/*}/library-run" -k "$K" "$@" -- \
    sh -c 'echo "fence $RLOCK_FENCE"; exec "$0" "$1"' "$LIB/until-file" "$T/$name.go"
}

@test "a program is turned away by a library's holder, and sees who it is and why" {
  guard holder --label nightly --reason 'the index is built anew'
  attempt -k "$K" -n -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line 'is held by' '/nightly'
  [[ $STORE == zookeeper || $STORE == etcd ]] || assert_stderr_line '(the index is built anew)'
  let_go holder
  assert_success
  attempt -k "$K" -n -- echo ran
  assert_output ran
}

@test "a library is turned away by a program's holder, and sees who it is" {
  hold holder -k "$K" --label nightly
  want other
  finish other
  assert_equal "$status" 75
  assert_stderr_line '/nightly'
  let_go holder
}

@test "they wait in one queue, and fences grow through both" {
  guard holder
  start second -k "$K" -w 60s -- sh -c 'echo "$RLOCK_FENCE"'
  wait_until waits_for "$K" 1
  want third -w 60s
  wait_until waits_for "$K" 2
  touch "$T/third.go"
  let_go holder
  local first=${output#fence }
  first=${first%%$'\n'*}
  finish second
  assert_success
  local middle=$output
  finish third
  assert_success
  local last=${output#fence }
  last=${last%%$'\n'*}
  assert_less "$first" "$middle"
  assert_less "$middle" "$last"
}

waits_for() {
  local key=$1 number=$2
  (($(seen "$key" 'len(d["waiters"])') == number))
}

@test "a library's lock outlives its ttl while it is held" {
  guard holder --ttl 2s
  sleep 5
  attempt -k "$K" -n -q -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  assert_success
}

@test "cancel reaches a library's holder, which releases; the canceller hears that" {
  guard holder --ttl 60s
  attempt cancel "$K" --wait 20s
  assert_success
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'asked to release'
  attempt -k "$K" -n -q -- true
  assert_success
}

@test "a library's lock that is taken away is lost at once" {
  guard holder --ttl 60s
  attempt force-release --yes "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'lost the lock'
}

@test "the lock of a library that was killed passes on" {
  guard holder --ttl 2s
  signal KILL holder
  touch "$T/holder.go"
  finish holder
  attempt -k "$K" -w 20s -q -- echo ran
  assert_output ran
}

# signal_servers SIGNAL: to all processes of the store's servers; those of one host have none.
signal_servers() {
  local dir pid
  for dir in $CONTRACT_SERVERS; do
    pid=$(<"$dir/pid")
    # shellcheck disable=SC2046  # pids
    kill "-$1" "$pid" $(pgrep -P "$pid")
  done
}

@test "a release does not wait for longer than two seconds for a server that is silent" {
  local start took
  guard holder --ttl 60s
  signal_servers STOP
  start=$(now_ms)
  let_go holder
  took=$(($(now_ms) - start))
  signal_servers CONT
  assert_success
  assert_less "$took" 3500
}

@test "a slot that a library has done is done for the program, and the log tells of both" {
  want first --slot s
  touch "$T/first.go"
  finish first
  assert_success
  attempt -k "$K" --slot s -q -- touch "$T/ran"
  assert_success
  [[ ! -e $T/ran ]]
  attempt -k "$K" --slot t -- true
  want second --slot t
  touch "$T/second.go"
  finish second
  assert_success
  assert_stderr_line "is done for the slot 't'"
}
