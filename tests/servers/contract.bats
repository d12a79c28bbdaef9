#!/usr/bin/env bats
# The contract that every kind of store keeps, by the program and by librlock.
# stores: redis gate quorum postgres zookeeper etcd local library-redis library-quorum library-postgres library-zookeeper
# stores: library-etcd library-local
load ../lib/rlock
load ../lib/stores
load ../lib/contract_stories

@test "a job runs under the lock, is told so, and its exit code is the exit code" {
  job_runs_under_the_lock
}

@test "while one holds, another is turned away with who it is" {
  hold holder -k "$K" --label nightly
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_one_stderr_line 'is held by' '/nightly'
  attempt -k "$K" -E 3 -- touch "$T/ran"
  assert_equal "$status" 3
  [[ ! -e $T/ran ]]
  let_go holder
  assert_success
  attempt -k "$K" -- echo ran
  assert_output ran
}

@test "a waiter runs when the holder has released" {
  waiter_runs_after_the_release
}

@test "a wait ends in time" {
  hold holder -k "$K"
  attempt -k "$K" -w 300ms -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  let_go holder
}

@test "fences grow with every grant" {
  local last=0 number
  for number in {1..5}; do
    # shellcheck disable=SC2016
    attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
    assert_less "$last" "$output"
    last=$output
  done
}

@test "a dozen at once, and never two of them" {
  never_two_of_a_dozen
  wait_free "$K"
}

@test "first come, first served" {
  can 'first come, first served' || return 0
  local number
  hold holder -k "$K"
  for number in 1 2 3 4; do
    stand_in_line "w$number" "$K" -- sh -c "echo $number >>'$T/order'"
  done
  assert_equal "$(seen "$K" 'len(d["waiters"])')" 4
  let_go holder
  for number in 1 2 3 4; do
    finish "w$number"
  done
  assert_equal "$(paste -sd ' ' "$T/order")" '1 2 3 4'
}

@test "a job that outlives its ttl keeps its lock" {
  hold holder -k "$K" --ttl 5s --grace 100ms # 3 s between a refresh and the end of the patience with it
  attempt -k "$K" -w 6s -q -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  let_go holder
  assert_success
}

@test "a job that waited and outlives its ttl keeps its lock" {
  hold holder -k "$K"
  stand_in_line waiter "$K" --ttl 5s --grace 100ms -- sleep 6
  let_go holder
  finish waiter
  assert_success
}

@test "the lock of a holder that was killed passes on" {
  lock_of_a_killed_holder_passes_on
}

@test "a waiter that was killed holds up nobody" {
  hold holder -k "$K"
  stand_in_line dead "$K" --ttl 2s -- touch "$T/ran"
  stand_in_line waiter "$K" --ttl 2s -- echo 'my turn'
  signal KILL dead
  let_go holder
  finish waiter
  assert_success
  assert_output 'my turn'
  [[ ! -e $T/ran ]]
}

@test "a waiter that is interrupted leaves" {
  hold holder -k "$K"
  stand_in_line waiter "$K" -- touch "$T/ran"
  signal TERM waiter
  finish waiter
  assert_equal "$status" 143
  assert_equal "$(seen "$K" 'len(d["waiters"])')" 0
  let_go holder
  [[ ! -e $T/ran ]]
}

@test "inspect and list show who holds" {
  inspect_and_list_show_the_holder
}

@test "metrics of a pattern has each lock in use, or remembered, once" {
  attempt -k "$K.over" -- true
  hold holder -k "$K.held" --history 0
  attempt -k "$K.unseen" --history 0 -- true
  attempt metrics "$K.[hou]*"
  assert_success
  assert_equal "$(grep '^rlock_holders{' <<<"$output" | sort)" \
    "rlock_holders{key=\"$K.held\"} 1"$'\n'"rlock_holders{key=\"$K.over\"} 0"
  let_go holder
}

@test "force-release takes the lock away; the job is stopped, and the next one runs" {
  force_release_passes_the_lock_on
}

@test "cancel has the job stopped, and waits for that" {
  hold holder -k "$K"
  # It listens once its job has lasted for a second.
  wait_until cancelled
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'cancelled'
  free "$K"
}

cancelled() {
  rlock cancel --wait 5s "$K" 2>/dev/null
}

@test "a holder with a long lease hears at once that it is to stop, or that the lock was taken away" {
  local act before
  for act in cancel 'force-release --yes'; do
    hold holder -k "$K" --ttl 60s
    sleep 1.3 # it listens
    before=$(now_ms)
    # shellcheck disable=SC2086
    attempt $act "$K"
    assert_success
    finish holder
    assert_equal "$status" 76
    assert_less $(($(now_ms) - before)) 9000 # a refresh is due each twenty seconds
  done
}

@test "check says whether the lock is still the job's" {
  attempt -k "$K" -- "$RLOCK_BIN" check --at-least 5s
  assert_success
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo "$RLOCK_TOKEN"'
  attempt check -k "$K" --token "$output"
  assert_equal "$status" 76
}

@test "a nested run says that it would wait for itself; --reentrant runs" {
  if is_library; then return 0; fi # it has no job that could tell it of the outer lock
  attempt -k "$K" -- "$RLOCK_BIN" -k "$K" -w 10s -- touch "$T/ran"
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE; "$RLOCK_BIN" --reentrant -k "$K" -- sh -c "echo \$RLOCK_FENCE"'
  assert_success
  assert_equal "${lines[0]}" "${lines[1]}"
}

@test "several keys, all or none" {
  several_keys_all_or_none
}

@test "readers together, a writer alone" {
  if ! can --shared; then
    refused --shared
    return 0
  fi
  hold one -k "$K" --shared
  hold two -k "$K" --shared
  assert_equal "$(seen "$K" 'len(d["holders"])')" 2
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  stand_in_line writer "$K" -- sh -c "echo writer >>'$T/order'"
  # Behind a writer that waits, a reader waits as well.
  stand_in_line late "$K" --shared -- sh -c "echo late >>'$T/order'"
  let_go one
  let_go two
  finish writer
  assert_success
  finish late
  assert_success
  assert_equal "$(paste -sd ' ' "$T/order")" 'writer late'
  [[ ! -e $T/ran ]]
}

@test "readers that waited run together" {
  can --shared || return 0
  local name
  hold writer -k "$K"
  for name in one two; do
    # shellcheck disable=SC2016
    stand_in_line "$name" "$K" --shared -- sh -c 'touch "$T/here.$$"
      timeout 10 sh -c "until [ \$(ls \$T | grep -c ^here) = 2 ]; do sleep 0.05; done"'
  done
  let_go writer
  finish one
  assert_success
  finish two
  assert_success
}

@test "a reader that was killed makes room for the writer" {
  can --shared || return 0
  hold holder -k "$K" --shared --ttl 4s
  stand_in_line writer "$K" -- echo 'my turn'
  signal KILL holder
  end_job_of_killed
  finish writer
  assert_success
  assert_output 'my turn'
}

@test "permits: exactly that many at once" {
  if ! can --permits; then
    refused --permits 2
    return 0
  fi
  hold one -k "$K" --permits 2
  hold two -k "$K" --permits 2
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 75
  attempt -k "$K" --permits 3 -- touch "$T/ran"
  assert_equal "$status" 78
  stand_in_line three "$K" --permits 2 -- echo 'my turn'
  let_go one
  finish three
  assert_success
  assert_output 'my turn'
  let_go two
  [[ ! -e $T/ran ]]
}

@test "permits have numbers, and names if they are given some" {
  if ! can --permits; then
    refused --permits 2
    refused --one-of a,b
    return 0
  fi
  start one -k "$K" --one-of a,b -- "$LIB/until-file" "$T/one.go"
  wait_until says "$T/one.out" started
  # shellcheck disable=SC2016
  attempt -k "$K" --one-of a,b -- sh -c 'echo "$RLOCK_PERMIT $RLOCK_RESOURCE"'
  assert_success
  assert_output '2 b'
  assert_equal "$(seen "$K" '[[h["permit"], h["resource"]] for h in d["holders"]]')" '[[1, "a"]]'
  assert_equal "$(seen "$K" 'd["resources"]')" '["a", "b"]'
  attempt -k "$K" --one-of b,a -- touch "$T/ran"
  assert_equal "$status" 78
  attempt -k "$K" --permits 2 -- touch "$T/ran"
  assert_equal "$status" 78
  let_go one
  [[ ! -e $T/ran ]]
  # shellcheck disable=SC2016
  attempt -k "$K" --permits 2 -- sh -c 'echo "$RLOCK_PERMIT ${RLOCK_RESOURCE-none}"'
  assert_output '1 none'
}

@test "cancel --token sends one waiter away, where a waiter can be told" {
  local token
  hold holder -k "$K"
  stand_in_line waiter "$K" -- touch "$T/ran"
  if [[ $STORE != gate ]]; then # nobody sees who waits there
    token=$(seen "$K" 'd["waiters"][0]["token"]')
    attempt cancel "$K" --token "$token"
    assert_success
  else
    signal TERM waiter
  fi
  finish waiter
  [[ $status == 75 || $status == 143 ]]
  let_go holder
  assert_success
  [[ ! -e $T/ran ]]
}

@test "steps: acquire, refresh, release" {
  local verb
  if ! can acquire; then
    for verb in 'acquire --ttl 60s' 'refresh --ttl 60s --token t' 'release --token t'; do
      # shellcheck disable=SC2086
      attempt $verb -k "$K"
      assert_equal "$status" 64
      assert_one_stderr_line "${verb%% *}" 'does not work with'
    done
    return 0
  fi
  attempt acquire -k "$K" --ttl 60s
  assert_success
  export RLOCK_TOKEN=$output RLOCK_KEY=$K
  held "$K"
  attempt refresh --ttl 30s
  assert_success
  attempt check --at-least 20s
  assert_success
  attempt release
  assert_success
  wait_free "$K"
  attempt release
  assert_equal "$status" 76
}

@test "--min-hold keeps it taken after the job, and no longer" {
  if ! can --min-hold; then
    refused --min-hold 2s
    return 0
  fi
  attempt -k "$K" --min-hold 15s -- true # time for a busy machine to look at it
  assert_success
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line 'kept by --min-hold after the job of'
  [[ ! -e $T/ran ]]
  assert_equal "$(json 'd["state"], d["holders"][0]["job_ended"]' inspect "$K" --json)" '["held", true]'
  attempt cancel "$K" --wait 10s
  assert_equal "$status" 75
  assert_stderr_line 'its job has ended; to take it away: rlock force-release'
  attempt -k "$K" -q -w 60s -- echo ran
  assert_output ran
}

@test "a log tells of a wait within its first seconds, and of no earlier state" {
  local from took
  hold holder -k "$K"
  from=$(now_ms)
  stand_in_line waiter "$K" -- true
  took=$(($(now_ms) - from))
  assert_less 900 "$took"
  assert_less "$took" 6000
  let_go holder
  finish waiter
  assert_success
}

@test "a run that waited is shown, and remembered, from its grant on" {
  local held waited
  hold holder -k "$K"
  stand_in_line waiter "$K" -- "$LIB/until-file" "$T/over"
  sleep 3 # longer than a busy machine takes for what follows
  let_go holder
  wait_until says "$T/waiter.out" started
  held=$(json 'd["held_ms"]' inspect --json "$K")
  assert_less "$held" 2900
  touch "$T/over"
  finish waiter
  assert_success
  read -r held waited < <(json '"%d %d" % (d["locks"][0]["runs"][0]["held_ms"], d["locks"][0]["runs"][0]["waited_ms"])' \
    log --json "$K" | tr -d '"')
  assert_less "$held" 2900
  assert_less 2900 "$waited"
}

@test "--max-hold: the job is stopped in time for that, 76, and the lock passes on" {
  start holder -k "$K" --ttl 60s --max-hold 8s -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  stand_in_line waiter "$K" -- echo 'my turn'
  finish holder
  assert_equal "$status" 76
  assert_stderr_line "its time under '$K' is over: --max-hold 8s; stopping the job"
  finish waiter
  assert_success
  assert_output 'my turn'
  assert_equal "$(json '[each["outcome"] for each in d["locks"][0]["runs"]]' log --json "$K")" "[\"$(end_of_run)\", \"overran\"]"
}

@test "--max-waiters: enough wait already" {
  if ! can --max-waiters; then
    refused --max-waiters 1
    return 0
  fi
  hold holder -k "$K"
  stand_in_line waiter "$K" -- true
  attempt -k "$K" -w 20s --max-waiters 1 -- touch "$T/ran"
  assert_equal "$status" 75
  let_go holder
  finish waiter
  [[ ! -e $T/ran ]]
}

@test "--supersede: newest wins" {
  if ! can --supersede; then
    refused --supersede
    return 0
  fi
  hold holder -k "$K"
  stand_in_line older "$K" -- touch "$T/ran"
  sleep 1.2 # a holder listens once its job has lasted for a second
  attempt -q -k "$K" --supersede -- echo newest
  assert_success
  assert_output newest
  finish holder
  assert_equal "$status" 76
  finish older
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "--supersede=waiting: the newest of those who wait, and the holder is left alone" {
  if ! can --supersede; then
    refused --supersede=waiting
    return 0
  fi
  hold holder -k "$K"
  stand_in_line older "$K" -- touch "$T/ran"
  start newest -q -k "$K" --supersede=waiting -- echo newest
  finish older
  assert_equal "$status" 75
  let_go holder
  assert_success
  finish newest
  assert_output newest
  [[ ! -e $T/ran ]]
}

@test "--supersede=waiting: one whose turn has come, and who is stopped, is sent away as well" {
  if ! can --supersede; then
    refused --supersede=waiting
    return 0
  fi
  hold holder -k "$K"
  stand_in_line older "$K" -- touch "$T/ran"
  signal STOP older
  let_go holder
  assert_success
  attempt -q -k "$K" -w 60s --supersede=waiting -- echo newest
  assert_output newest
  signal CONT older
  finish older
  assert_equal "$status" 75
  [[ ! -e $T/ran ]]
}

@test "keys of every kind" {
  local key
  for key in 'a/b' '.' '..' 'with blank' '%41' 'ü€' '-x' "$(printf 'x%.0s' {1..80})"; do
    attempt -k "$K$key" -- "$RLOCK_BIN" list --json
    assert_success
    [[ $output == *"$K"* ]]
    attempt inspect -q "$K$key"
    assert_equal "$status" 1
  done
}

@test "the job inherits no descriptor of ours" {
  attempt -k "$K" -- sh -c 'ls -l /proc/self/fd | grep -E "socket:|$K|locks|pipe:.*rlock|fifo" || true'
  assert_output ''
}

@test "doctor finds nothing that fails" {
  doctor_finds_nothing_that_fails
}

# outcomes KEY: of its runs, the newest first.
outcomes() {
  json '" ".join(r["outcome"] + ("" if r["exit_code"] is None else " %d" % r["exit_code"]) for l in d["locks"] for r in l["runs"])' \
    log --json "$1"
}

# The library does not know what became of the work under a lock without a slot.
end_of_run() { if is_library; then echo released; else echo exited; fi; }

@test "the last runs are remembered, with how they ended" {
  if is_library; then return 0; fi
  local key=$K.log
  attempt -k "$key" -- sh -c 'exit 3'
  attempt -k "$key" --history 0 -- true
  attempt -k "$key" -- "$T/nothing"
  hold taken -k "$key"
  assert_equal "$(outcomes "$key")" 'running not-started 127 exited 3'
  attempt force-release --yes "$key"
  finish taken
  attempt -k "$key" -- true
  assert_equal "$(outcomes "$key")" 'exited 0 lost not-started 127 exited 3'
  attempt overdue "$key" --within 1h
  assert_success
  attempt overdue "$K.never" --within 1h
  assert_equal "$status" 1
}

@test "the reason of a lock is seen while it is held, and remembered" {
  hold holder -k "$K" --reason 'the index is built anew'
  assert_equal "$(seen "$K" 'd["holders"][0]["reason"]')" 'the index is built anew'
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  [[ $STORE == zookeeper || $STORE == etcd ]] || assert_stderr_line '(the index is built anew)'
  let_go holder
  assert_equal "$(json '[each["reason"] for each in d["locks"][0]["runs"]]' log --json "$K")" \
    '["the index is built anew"]'
}

@test "a slot whose job was killed with its guardian's end, or never began, is open" {
  if is_library; then return 0; fi # it has no guardian
  hold holder -k "$K" --slot s
  stand_in_line spare "$K" --slot s --share -- sh -c 'echo "$RLOCK_ATTEMPT"; exit 4'
  kill -KILL "$(guardian_of holder)"
  finish holder
  assert_equal "$status" 137
  finish spare
  assert_equal "$status" 4
  assert_output 2
  assert_equal "$(outcomes "$K")" 'exited 4 lost'
}

@test "a slot's run that was told to reload, and failed much later, has ended by itself" {
  start holder -k "$K" --slot s -- bash -c 'trap "touch $T/reloaded" HUP; touch "$T/begun"; until [[ -e $T/end ]]; do sleep 0.05; done; exit 7'
  wait_until test -e "$T/begun"
  signal HUP holder
  wait_until test -e "$T/reloaded"
  touch "$T/end"
  finish holder
  assert_equal "$status" 7
  attempt -k "$K" --slot s --share -- touch "$T/ran"
  assert_equal "$status" 7
  [[ ! -e $T/ran ]]
}

@test "a slot is done once, and a run that may fail leaves it open" {
  # shellcheck disable=SC2016
  attempt -k "$K" --slot one -- sh -c 'echo "$RLOCK_SLOT $RLOCK_ATTEMPT"; exit 7'
  assert_equal "$status" 7
  assert_output 'one 1'
  attempt -k "$K" --slot one -- touch "$T/ran"
  assert_success
  assert_one_stderr_line "'$K' is done for the slot 'one': exit 7, "
  attempt -k "$K" --slot one --share -- touch "$T/ran"
  assert_equal "$status" 7
  attempt -k "$K" --slot two --retry 1 -- false
  # shellcheck disable=SC2016
  attempt -k "$K" --slot two --retry 1 -- sh -c 'echo "$RLOCK_ATTEMPT"; exit 5'
  assert_output 2
  attempt -k "$K" --slot two --retry 1 --share -- touch "$T/ran"
  assert_equal "$status" 5
  [[ ! -e $T/ran ]]
}

# begin_failing NAME: a run for the slot s, with one retry, that fails with 9 once it is let go.
begin_failing() {
  local name=$1
  start "$name" -k "$K" --slot s --retry 1 -- "$LIB/until-file" "$T/$name.go" 9
  wait_until says "$T/$name.out" started
}

# second_failure_is_the_last: the run named second fails, and it is the last.
second_failure_is_the_last() {
  touch "$T/second.go"
  finish second
  assert_equal "$status" 9
  attempt -k "$K" --slot s --retry 1 --share -- touch "$T/ran"
  assert_equal "$status" 9
  [[ ! -e $T/ran ]]
}

@test "a run that fails counts with the failures before it, although the server remembers an earlier state of its slot" {
  begin_failing first
  keep_slot s
  touch "$T/first.go"
  finish first
  begin_failing second
  put_back_slot s
  second_failure_is_the_last
  run json '[[r["slot"], r["attempt"]] for r in d["locks"][0]["runs"]]' log --json "$K"
  assert_output '[["s", 2], ["s", 1]]'
}

@test "a run that fails counts with the failures before it, although the server has lost its slot" {
  attempt -k "$K" --slot s --retry 1 -- false
  begin_failing second
  lose_slot s
  second_failure_is_the_last
}

@test "a run that outlives its --history has the slot all the same" {
  hold holder -k "$K" --slot s --history 1s --ttl 1s
  sleep 1.2
  kill -9 "${PIDS[holder]}" "$(guardian_of holder)"
  # shellcheck disable=SC2016
  attempt -k "$K" --slot s -w 30s -- sh -c 'echo "$RLOCK_SLOT $RLOCK_ATTEMPT"'
  assert_output 's 2'
}

@test "those who wait for a slot run nothing once it is done; another slot's turn comes" {
  local number
  hold holder -k "$K" --slot s
  attempt -k "$K" --slot s -- touch "$T/ran"
  assert_equal "$status" 75
  for number in 1 2 3; do
    stand_in_line "spare$number" "$K" --slot s --share -- touch "$T/ran"
  done
  # shellcheck disable=SC2016
  stand_in_line other "$K" --slot t -- sh -c 'echo "$RLOCK_SLOT"'
  let_go holder
  for number in 1 2 3; do
    finish "spare$number"
    assert_success
  done
  finish other
  assert_output t
  [[ ! -e $T/ran ]]
}

@test "a run for a slot that was killed is followed by a spare's" {
  hold holder -k "$K" --slot s --ttl 4s
  # shellcheck disable=SC2016
  stand_in_line spare "$K" --slot s --ttl 4s -- sh -c 'echo "$RLOCK_ATTEMPT"; exit 4'
  signal KILL holder
  end_job_of_killed
  finish spare
  assert_equal "$status" 4
  assert_output 2
  attempt -k "$K" --slot s --share -- touch "$T/ran"
  assert_equal "$status" 4
  [[ ! -e $T/ran ]]
}
