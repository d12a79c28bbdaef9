#!/usr/bin/env bats
# Orphans of others that come to rlock are not of the job, in whatever way a run ends: nobody waits for them, nobody
# signals them.
load ../lib/rlock
load ../lib/namespaces

# In none of these does the time of the grace pass.
slow=(-t 60s --grace 20s)

# The stranger was forked after rlock had begun its job, and notes each signal in $T/stranger. A script for bash -c.
# shellcheck disable=SC2016,SC2089,SC2090
export stranger='trap "echo TERM >>\"$T/stranger\"" TERM HUP INT; echo here >"$T/stranger"; while :; do sleep 0.05; done'
# The job says where it is. $T/job: its number, and its guardian's.
# shellcheck disable=SC2016
job='echo $$ $PPID >"$T/job"; exec "$LIB/until-file" "$T/holder.go" 4'

# of_the_shell [RLOCK OPTION...]: of a child that a shell had before it executed rlock
of_the_shell() {
  # shellcheck disable=SC2016
  launch holder bash -c '{ until [ -e "$T/fork" ]; do sleep 0.02; done; bash -c "$stranger" & } &
    exec "$RLOCK_BIN" -k "$K" "$@"' - "$@"
  RLOCK=${PIDS[holder]}
  inside() { "$@"; }
  await_job
  touch "$T/fork"
  await_stranger
}

# of_the_container [RLOCK OPTION...]: of a process that joined the namespace in which rlock is process 1
of_the_container() {
  launch holder "${INSIDE[@]}" "$RLOCK_BIN" -k "$K" "$@"
  wait_until has_child "${PIDS[holder]}"
  RLOCK=$(first_child "${PIDS[holder]}")
  inside() { enter "$RLOCK" "$@"; }
  await_job
  # shellcheck disable=SC2016
  inside bash -c 'bash -c "$stranger" >/dev/null 2>&1 &' 3>&-
  await_stranger
}

has_child() { [[ -n $(first_child "$1") ]]; }

await_job() {
  wait_until says "$T/holder.out" started
  read -r JOB GUARDIAN <"$T/job"
}

await_stranger() {
  wait_until says "$T/stranger" here
  wait_until has_stranger
}

# has_stranger: rlock has its guardian's heir, the stranger, and soon a witness for children
has_stranger() {
  local child
  local -a children others=()
  read -ra children <"/proc/$RLOCK/task/$RLOCK/children"
  for child in "${children[@]}"; do
    [[ $(<"/proc/$child/comm") == witness ]] || others+=("$child")
  done
  ((${#others[@]} == 2)) && [[ $(<"/proc/${others[0]}/comm") == guardian ]] || return 1
  STRANGER=${others[1]}
}

# The ways of an end. Each begins with `$from`, and sets what the exit code is to be.

by_itself() {
  "$from" "${slow[@]}" -- sh -c "$job"
  touch "$T/holder.go"
  code=4
}
by_term() {
  "$from" "${slow[@]}" -- sh -c "$job"
  kill -TERM "$RLOCK"
  code=143
}
by_hup() {
  "$from" "${slow[@]}" -- sh -c "$job"
  kill -HUP "$RLOCK"
  code=129
}
by_impatience() {
  "$from" "${slow[@]}" -- sh -c "trap '' TERM INT; $job"
  kill -TERM "$RLOCK"
  sleep 0.1 # not both at once, or they are taken in the order of their numbers
  kill -INT "$RLOCK"
  code=137
}
by_grace() {
  "$from" -t 60s --grace 300ms -- sh -c "trap '' TERM; $job"
  attempt cancel --wait 0 "$K"
  code=76
}
by_cancel() {
  "$from" "${slow[@]}" -- sh -c "$job"
  wait_until listening 1
  attempt cancel --wait 0 "$K"
  code=76
}
by_loss() {
  "$from" -t 3s --grace 1500ms -- sh -c "$job"
  redis del "$K" >/dev/null
  code=76
}
# kill_inside PID: process 1 may end of that, and take the one that killed along
kill_inside() {
  inside kill -KILL "$1" || [[ $? == 137 ]]
}
by_max_hold() {
  "$from" -t 60s --grace 400ms --max-hold 2s -- sh -c "$job"
  code=76
}
by_its_guardian() {
  "$from" "${slow[@]}" -- sh -c "$job"
  kill_inside "$GUARDIAN"
  code=137
}
by_kill() {
  "$from" "${slow[@]}" -- sh -c "$job"
  kill_inside "$JOB"
  code=137
}
by_wait_all() {
  "$from" "${slow[@]}" --wait-all -- sh -c "sh -c 'sleep 0.5; touch \"\$T/late\"' & $job"
  touch "$T/holder.go"
  code=4
}
# The heir is killed, and then the run goes on as before.
by_term_without_an_heir() {
  local heir
  "$from" "${slow[@]}" -- sh -c "$job"
  heir=$(first_child "$RLOCK")
  kill -KILL "$heir"
  wait_until gone "$heir"
  process_alive "$STRANGER"
  kill -TERM "$RLOCK"
  code=143
}

ways=(by_itself by_term by_hup by_impatience by_grace by_cancel by_loss by_max_hold by_its_guardian by_kill by_wait_all
  by_term_without_an_heir)

# each_way FROM: a stranger that comes from there, and each way of an end
each_way() {
  local from=$1 way code
  own_server
  for way in "${ways[@]}"; do
    echo "$from $way"
    rm -f "$T"/{fork,stranger,job,late,holder.go}
    "$way"
    PATIENCE=10 wait_until gone "$RLOCK"
    # Process 1 takes all of its namespace along.
    [[ $from == of_the_container ]] || process_alive "$STRANGER"
    finish holder
    assert_equal "$status" "$code"
    assert_equal "$(<"$T/stranger")" here
    [[ $way != by_wait_all || -e $T/late ]]
    free "$K"
    end_leftovers
  done
}

@test "an orphan of a child from before rlock is left alone, however the run ends" {
  each_way of_the_shell
}

@test "an orphan of a process that joined the container is left alone, however the run ends" {
  own_pids
  each_way of_the_container
}

# The members of a job whose guardian is killed are told from strangers by their descent alone.
@test "the processes of a killed guardian's job are killed, and the stranger lives" {
  # shellcheck disable=SC2016
  of_the_shell "${slow[@]}" -- sh -c '
    (cd /; env -i setsid sleep 301 >/dev/null 2>&1 & echo $! >"$T/daemon") &
    (sleep 302 & echo $! >"$T/orphan");'" $job"
  kill -KILL "$GUARDIAN"
  finish holder
  assert_equal "$status" 137
  gone "$(<"$T/daemon")"
  gone "$(<"$T/orphan")"
  process_alive "$STRANGER"
  assert_equal "$(<"$T/stranger")" here
  end_leftovers
}

@test "kill -9 of rlock, and of rlock and the guardian: nothing of the job is left, and the stranger lives" {
  local victims
  for victims in '$RLOCK' '$RLOCK $GUARDIAN'; do
    rm -f "$T"/{fork,stranger,job}
    # shellcheck disable=SC2016
    of_the_shell "${slow[@]}" -- sh -c 'setsid sleep 301 >/dev/null 2>&1 & echo $! >"$T/daemon"'" $job"
    # shellcheck disable=SC2046
    kill -KILL $(eval "echo $victims")
    wait_until gone "$JOB"
    wait_until gone "$(<"$T/daemon")"
    process_alive "$STRANGER"
    wait_until gone "$GUARDIAN"
    assert_equal "$(<"$T/stranger")" here
    end_leftovers
    redis del "$K" >/dev/null
  done
}
