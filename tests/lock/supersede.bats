#!/usr/bin/env bats
# --supersede: the newest wins.
load ../lib/rlock

@test "the holder stops with 76, an older waiter goes with 75, the newest runs" {
  own_server
  hold holder -k "$K"
  wait_until listening 1
  queue_up older "$K" 1 -- touch "$T/ran"
  attempt -k "$K" --supersede --label newest -- echo ran
  assert_success
  assert_output ran
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "the run under '$K' was superseded by $(id -un)@"
  assert_stderr_line '/newest; stopping the job'
  finish older
  assert_equal "$status" 75
  assert_stderr_line "left the queue for '$K': superseded by $(id -un)@"
  [[ ! -e $T/ran ]]
}

@test "a command that cannot be run supersedes nobody" {
  hold holder -k "$K"
  attempt -k "$K" --supersede -- no-such-command
  assert_equal "$status" 127
  assert_one_stderr_line "cannot run 'no-such-command': No such file or directory; --supersede stopped nobody for it"
  echo >"$T/script"
  attempt -k "$K" --supersede -- "$T/script"
  assert_equal "$status" 126
  assert_one_stderr_line "--supersede stopped nobody for it"
  let_go holder
  assert_success
}

@test "an older waiter exits with the code it was given" {
  own_server
  hold holder -k "$K"
  wait_until listening 1
  queue_up older "$K" 1 -E 3 -- true
  attempt -k "$K" --supersede -- true
  assert_success
  finish older
  assert_equal "$status" 3
  finish holder
}

@test "of three that supersede each other the last one runs to its end" {
  local number
  own_server
  start job-1 -q -k "$K" --supersede -- "$LIB/until-file" "$T/never"
  wait_until says "$T/job-1.out" started
  wait_until listening 1
  start job-2 -q -k "$K" --supersede -- "$LIB/until-file" "$T/never"
  wait_until says "$T/job-2.out" started
  finish job-1
  assert_equal "$status" 76
  wait_until listening 1
  attempt -k "$K" --supersede -- echo ran
  assert_success
  assert_output ran
  finish job-2
  assert_equal "$status" 76
}

@test "=waiting sends those away who wait, and leaves the holder alone" {
  own_server
  hold holder -k "$K"
  wait_until listening 1
  queue_up older "$K" 1 -- touch "$T/ran"
  start newest -k "$K" --supersede=waiting --label newest --reason 'a newer commit' -- echo ran
  finish older
  assert_equal "$status" 75
  assert_stderr_line "left the queue for '$K': superseded by $(id -un)@"
  assert_stderr_line '/newest: a newer commit'
  wait_queued "$K" 1
  queue_up later "$K" 2 -- echo later
  let_go holder
  assert_success
  finish newest
  assert_success
  assert_output ran
  finish later
  assert_success
  [[ ! -e $T/ran ]]
}

# older_is_sent_away: a waiter that was stopped does not run once it goes on, for a newer one has run.
older_is_sent_away() {
  attempt -k "$K" --supersede=waiting -- echo ran
  assert_success
  assert_output ran
  signal CONT older
  finish older
  assert_equal "$status" 75 # though it hears of its turn first, and the lock is free
  [[ ! -e $T/ran ]]
}

@test "=waiting sends one away that was woken and has not come, and takes its turn" {
  own_server
  hold holder -k "$K"
  queue_up older "$K" 1 -- touch "$T/ran"
  signal STOP older
  reserve holder "$K"
  older_is_sent_away
}

@test "one that was woken, did not come in time and comes back at last was sent away as well" {
  own_server
  hold holder -k "$K"
  queue_up older "$K" 1 -- touch "$T/ran"
  signal STOP older
  let_go holder
  wait_free "$K" # it has two seconds
  older_is_sent_away
}

token_of_last_waiter() {
  local id
  id=$(redis zrange "{$K}:rlock:queue" -1 -1)
  echo "${id##* }"
}

@test "a reader that was woken and sent away does not join the other readers" {
  own_server
  hold holder -k "$K"
  start first -k "$K" --shared -w 60s --ttl 60s --grace 30s -- sh -c 'trap "" TERM; "$LIB/until-file" "$T/first.go"'
  wait_queued "$K" 1
  queue_up older "$K" 2 --shared -- touch "$T/ran"
  wait_until listening 3 # it is stopped while it listens, and not before
  signal STOP older
  # One wake more, so that it asks again, and has a position, before it reads that it was sent away.
  redis rpush "{$K}:rlock:mail:$(token_of_last_waiter)" wake wake > /dev/null
  let_go holder
  wait_until says "$T/first.out" started
  wait_until listening 2
  start newest -k "$K" -w 60s --supersede -- echo ran
  wait_until says "$T/newest.err" 'waiting for'
  signal CONT older
  finish older
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  touch "$T/first.go"
  finish first
  assert_equal "$status" 76
  finish newest
  assert_success
  assert_output ran
}

@test "=waiting leaves the holders of permits alone" {
  own_server
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  wait_until listening 2
  queue_up older "$K" 1 --permits 2 -- touch "$T/ran"
  start newest -k "$K" --permits 2 --supersede=waiting -- echo ran
  finish older
  assert_equal "$status" 75
  let_go one
  assert_success
  finish newest
  assert_success
  let_go two
  assert_success
  [[ ! -e $T/ran ]]
}

@test "the next word is the command, not the argument; a variable also sets it" {
  own_server
  attempt -k "$K" --supersede echo waiting
  assert_success
  assert_output waiting
  hold holder -k "$K"
  wait_until listening 1
  queue_up older "$K" 1 -- touch "$T/ran"
  RLOCK_SUPERSEDE=waiting start newest -k "$K" -- echo ran
  finish older
  assert_equal "$status" 75
  let_go holder
  assert_success
  finish newest
  assert_output ran
  RLOCK_SUPERSEDE=nobody attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "RLOCK_SUPERSEDE: 'nobody' is not valid; expected all, waiting,"
  [[ ! -e $T/ran ]]
}

@test "a later waiter waits behind it, undisturbed" {
  own_server
  hold_stubborn holder --ttl 60s --grace 8s
  wait_until listening 1
  start newest -k "$K" --supersede -- "$LIB/until-file" "$T/newest.go"
  wait_queued "$K" 1
  queue_up later "$K" 2 -- echo ran
  wait_until says "$T/newest.out" started
  let_go newest
  assert_success
  finish later
  assert_success
  assert_output ran
  finish holder
  assert_equal "$status" 76
}

@test "one that is killed while it waits leaves a free lock" {
  own_server
  hold_stubborn holder --ttl 60s --grace 6s
  wait_until listening 1
  start newest -k "$K" --supersede -- touch "$T/ran"
  wait_queued "$K" 1
  signal KILL newest
  finish newest
  finish holder
  assert_equal "$status" 76
  attempt -k "$K" -w 20s -- echo ran
  assert_success
  assert_output ran
}

@test "an older one that asks again, because its answer was lost, does not send the newer one away" {
  own_server
  hold oldest -k "$K"
  start_proxy
  proxy swallow-reply EVAL
  start older -k "$K" --supersede -w 60s -- touch "$T/older.ran"
  wait_until says "$T/proxy.log" swallowed
  finish oldest
  assert_equal "$status" 76
  use_server "$SERVER"
  hold newer -k "$K" --supersede -w 60s
  proxy reset
  finish older
  assert_equal "$status" 75
  assert_stderr_line superseded
  sleep 1.5 # by then a holder has heard what it was told
  let_go newer
  assert_success
  [[ ! -e $T/older.ran ]]
  stop_proxy
}

@test "one whose question was lost supersedes when it asks again" {
  own_server
  hold oldest -k "$K"
  start_proxy
  proxy drop-request EVAL
  start newer -k "$K" --supersede -w 60s -- echo ran
  finish oldest
  assert_equal "$status" 76
  finish newer
  assert_success
  assert_output ran
  stop_proxy
}

@test "a foreign holder is waited for" {
  redis set "$K" foreign px 500
  attempt -k "$K" --supersede -- echo ran
  assert_success
  assert_output ran
}

@test "--wait limits how long it waits" {
  redis set "$K" foreign px 60000
  attempt -k "$K" --supersede -w 300ms -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "it cannot be acquired without waiting" {
  attempt -k "$K" --supersede -n -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line --supersede
  attempt -k "$K" --supersede --wait 0 -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
}

@test "no litter" {
  own_server
  hold holder -k "$K"
  wait_until listening 1
  queue_up older "$K" 1 -- true
  attempt -k "$K" --supersede -- true
  finish holder
  finish older
  only_left "$K"
}
