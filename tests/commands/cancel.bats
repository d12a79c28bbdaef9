#!/usr/bin/env bats
# rlock cancel: the holder is asked to stop its job, and does.
load ../lib/rlock

# hold_listening NAME ARG...: on a server of its own, with the second connection that hears others.
hold_listening() {
  local name=$1
  own_server
  hold "$@"
  wait_until listening 1
}

@test "the holder stops its job, releases, and exits 76 with who asked; cancel says so" {
  local before
  hold_listening holder -k "$K" --ttl 60s --label nightly
  before=$(now_ms)
  attempt cancel "$K"
  assert_success
  assert_output "'$K': $(id -un)@$(hostname):${PIDS[holder]}/nightly has stopped its job and released"
  finish holder
  assert_equal "$status" 76
  assert_one_stderr_line "the run under '$K' was cancelled by $(id -un)@$(hostname); stopping the job"
  assert_less $(($(now_ms) - before)) 15000 # a refresh would come after 20 s
  free "$K"
}

@test "a waiter gets its turn" {
  hold_listening holder -k "$K"
  queue_up waiter "$K" 1 -- echo ran
  attempt cancel "$K"
  assert_success
  finish waiter
  assert_success
  assert_output ran
  finish holder
}

@test "a holder whose second connection was lost opens another" {
  local id
  hold_listening holder -k "$K" --ttl 60s
  id=$(redis client list | sed -n 's/^id=\([0-9]*\) .*cmd=blpop.*/\1/p')
  redis client kill id "$id" >/dev/null
  wait_until listening_anew "$id"
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

listening_anew() {
  local id=$1
  redis client list | grep cmd=blpop | grep -qv "^id=$id "
}

@test "a stopped run is told the reason, on one line whatever it is" {
  own_server
  hold holder -k "$K" --status-file "$T/status"
  wait_until listening 1
  attempt cancel "$K" --reason $'wrong branch,\nsee "#42"'
  assert_success
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "cancelled by $(id -un)@$(hostname): wrong branch, see \"#42\"; stopping the job"
  assert_equal "$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["lost_why"])' "$T/status")" \
    "cancelled by $(id -un)@$(hostname): wrong branch, see \"#42\""
  hold holder -k "$K"
  wait_until listening 1
  attempt force-release --yes "$K" --reason 'it hangs'
  assert_success
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "force-released by $(id -un)@$(hostname): it hangs"
}

@test "a reason of 200 bytes is told and remembered whole" {
  local reason
  reason=$(printf 'x%.0s' {1..191})TICKET-47
  hold holder -k "$K"
  attempt cancel "$K" --reason "$reason"
  assert_success
  finish holder
  [[ $stderr == *"$reason"* ]]
  [[ $(rlock log --json "$K") == *"$reason"* ]]
}

@test "nobody holds it: 1" {
  attempt cancel "$K"
  assert_equal "$status" 1
  assert_one_stderr_line "nobody holds '$K'"
}

@test "a job that ignores TERM is killed after its grace" {
  own_server
  hold_stubborn holder --ttl 60s --grace 300ms
  wait_until listening 1
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "the whole tree is stopped before the lock is released" {
  own_server
  start holder -k "$K" -- sh -c 'setsid "$LIB/until-file" "$T/never" >"$T/daemon" & echo $! >"$T/daemon.pid"; wait'
  wait_until says "$T/daemon" started
  wait_until listening 1
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  gone "$(<"$T/daemon.pid")"
}

@test "--on-lost warn is about a lost lock: a cancelled job stops all the same" {
  hold_listening holder -k "$K" --on-lost warn
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "a foreign holder cannot be asked: 75" {
  redis set "$K" foreign px 60000
  attempt cancel "$K"
  assert_equal "$status" 75
  assert_one_stderr_line 'foreign client'
  assert_equal "$(redis get "$K")" foreign
}

@test "a lock that nobody keeps is still held when the wait ends: 75" {
  attempt acquire -k "$K" --ttl 60s
  attempt cancel "$K" --wait 300ms
  assert_equal "$status" 75
  assert_one_stderr_line "'$K' is still held by" 'ago: a lock of rlock acquire, which nobody hears for' \
    'force-release'
  held "$K"
}

@test "of several holders all are asked, or the one that is named" {
  local token
  own_server
  hold one -k "$K" -s
  hold two -k "$K" -s
  hold three -k "$K" -s
  wait_until listening 3
  token=$(json '[h["token"] for h in d["holders"] if h["pid"] == '"${PIDS[one]}"'][0]' inspect --json "$K")
  attempt cancel "$K" --token "$token"
  assert_success
  assert_output --partial ":${PIDS[one]}/"
  finish one
  assert_equal "$status" 76
  assert_equal "$(json 'len(d["holders"])' inspect --json "$K")" 2
  attempt cancel "$K"
  assert_success
  assert_equal "${#lines[@]}" 2
  finish two
  assert_equal "$status" 76
  finish three
  assert_equal "$status" 76
  free "$K"
}

# token_of_waiter NUMBER: of the waiters of $K.
token_of_waiter() {
  json "d['waiters'][$1]['token']" inspect --json "$K"
}

@test "a waiter that is named is sent away, told by whom and why; holder and queue are left alone" {
  own_server
  hold holder -k "$K"
  wait_until listening 1
  queue_up unwanted "$K" 1 -E 3 --status-file "$T/status" -- touch "$T/ran"
  queue_up behind "$K" 2 -- echo ran
  attempt cancel "$K" --token "$(token_of_waiter 0)" --reason 'wrong branch'
  assert_success
  assert_output "'$K': $(id -un)@$(hostname):${PIDS[unwanted]}/touch has left the queue"
  finish unwanted
  assert_equal "$status" 3
  assert_stderr_line "left the queue for '$K': cancelled by $(id -un)@$(hostname): wrong branch"
  assert_equal "$("$PYTHON" -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["outcome"], d["why"])' "$T/status")" \
    "busy cancelled by $(id -un)@$(hostname): wrong branch"
  queued "$K" 1
  let_go holder
  assert_success
  finish behind
  assert_success
  assert_output ran
  [[ ! -e $T/ran ]]
}

@test "cancel also finds a waiter for a permit, for one of some names, or among readers" {
  local how key=$K
  local -a options
  own_server
  for how in '--permits 2' '--one-of=a b,c'; do
    if [[ $how == --permits* ]]; then options=(--permits 2); else options=("$how"); fi
    K=$key:${how:2:1}
    hold one -k "$K" "${options[@]}"
    hold two -k "$K" "${options[@]}"
    queue_up unwanted "$K" 1 "${options[@]}" -- touch "$T/ran"
    attempt cancel "$K" --token "$(token_of_waiter 0)"
    assert_success
    finish unwanted
    assert_equal "$status" 75
    let_go one
    assert_success
    let_go two
    assert_success
  done
  K=$key
  hold writer -k "$K"
  queue_up unwanted "$K" 1 -s -- touch "$T/ran"
  attempt cancel "$K" --token "$(token_of_waiter 0)"
  assert_success
  finish unwanted
  assert_equal "$status" 75
  let_go writer
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a waiter that does not hear is still there when the wait ends: 75" {
  own_server
  hold holder -k "$K"
  queue_up stopped "$K" 1 -- touch "$T/ran"
  signal STOP stopped
  attempt cancel "$K" --token "$(token_of_waiter 0)" --wait 300ms
  assert_equal "$status" 75
  assert_one_stderr_line 'still waits, 300ms after it was asked to leave'
  signal CONT stopped
  finish stopped
  assert_equal "$status" 75
  let_go holder
  assert_success
  [[ ! -e $T/ran ]]
}

@test "a token that holds nothing: 1" {
  hold holder -k "$K"
  attempt cancel "$K" --token nobody
  assert_equal "$status" 1
  attempt force-release --yes "$K" --token nobody
  assert_equal "$status" 1
  let_go holder
  assert_success
}

@test "a killed holder says nothing, and its lock ends with the lease" {
  hold holder -k "$K" --ttl 6s
  signal KILL holder
  attempt cancel "$K" --wait 20s
  assert_success
  assert_output --partial released
  finish holder
}

@test "a job that has just ended by itself keeps its exit code" {
  hold_listening holder -k "$K"
  touch "$T/holder.go"
  attempt cancel "$K"
  finish holder
  [[ $status == 0 || $status == 76 ]] # whichever came first
  free "$K"
}

@test "a waiter with a reservation is asked as well" {
  hold holder -k "$K"
  queue_up waiter "$K" 1 -- "$LIB/until-file" "$T/never"
  signal STOP waiter
  reserve holder "$K"
  start canceller cancel "$K"
  wait_until says_stop "$K"
  signal CONT waiter
  finish canceller
  assert_success
  finish waiter
  [[ $status == 75 || $status == 76 ]] # sent away, or stopped when it had just begun
  assert_stderr_line 'cancelled by'
  free "$K"
}

says_stop() {
  local key=$1 mailbox
  mailbox=$(redis --raw keys "*$key*:mail:*@*" | head -n 1)
  [[ -n $mailbox && $(redis --raw lrange "$mailbox" 0 -1) == *stop* ]]
}

@test "usage" {
  attempt cancel
  assert_equal "$status" 64
  attempt cancel one two
  assert_equal "$status" 64
  attempt cancel "$K" --wait soon
  assert_equal "$status" 64
  assert_one_stderr_line "--wait: 'soon' is not valid"
}

@test "cancel of a lock of acquire says that no process keeps it" {
  attempt acquire -k "$K" --ttl 60s
  attempt cancel "$K" --wait 3s
  assert_equal "$status" 75
  assert_stderr_line "waiting up to 3s"
  assert_stderr_line 'be released; rlock acquire left nobody behind who hears of this'
  assert_stderr_line 'a lock of rlock acquire, which nobody hears for'
}

@test "a lock of acquire is said at once to have nobody who hears a cancel" {
  attempt acquire -k "$K" --ttl 60s
  start cancelling cancel "$K"
  PATIENCE=8 wait_until says "$T/cancelling.err" 'rlock force-release'
  finish cancelling
  assert_equal "$status" 75
  unsaid "$T/cancelling.err" 'waiting up to'
  says "$T/cancelling.err" "'$K' is held by "
  says "$T/cancelling.err" 'a lock of rlock acquire: nobody is there to hear of this'
}

@test "a cancel waits for the jobs among the holders, and not for the locks of acquire" {
  attempt acquire -k "$K" --permits 2 --ttl 60s
  hold job -k "$K" --permits 2
  attempt cancel "$K"
  assert_equal "$status" 75
  assert_output --partial 'has stopped its job and released'
  assert_one_stderr_line 'a lock of rlock acquire: nobody is there to hear of this'
  finish job
  assert_equal "$status" 76
}
