#!/usr/bin/env bats
# rlock-recipes(7)'s lines for the queueing modes of other systems and for those who come from flock: each does what
# the page says. The lines come from the page.
load ../lib/rlock
load ../lib/recipes

# lines_of: SECTION<tab>ITEM<tab>LINE of each item of POLICIES; LINE is empty where there is none
lines_of() {
  awk '
    /^\.S[hs] / && item != "" { print section "\t" item "\t" line; item = line = "" }
    /^\.Sh / { inside = $0 == ".Sh POLICIES" }
    !inside { next }
    /^\.Ss / { section = substr($0, 5) }
    /^\.It / { if (item != "") print section "\t" item "\t" line; item = substr($0, 5); line = "" }
    /^\.Dl / { line = substr($0, 5) }' "$PAGE"
}

# policy SECTION ITEM: sets COMMAND to its line, with this test's key and job
policy() {
  local line
  line=$(lines_of | awk -F '\t' -v section="$1" -v item="$2" '$1 == section && $2 == item { print $3 }')
  [[ -n $line ]] || fail "no line for '$2' below '$1'"
  line=${line//KEY2/$K:2}
  line=${line//KEY/$K}
  at_home
  COMMAND=(sh -c "exec ${line/COMMAND/./job}")
}

@test "every mode of the page has a line that is executed here, or says that there is none" {
  local section item line
  while IFS=$'\t' read -r section item line; do
    if [[ -n $line ]]; then
      grep -qF -e "policy '$section' '$item'" -e "policy '$section' \"$item\"" "$BATS_TEST_FILENAME" || fail "not executed: $section, $item"
    else
      awk -v section=".Ss $section" -v item=".It $item" '/^\.S[hs] / { inside = $0 == section } /^\.It / { here = inside && $0 == item }
        here && /^rlock has none|no lock\.$/ { found = 1 } END { exit !found }' "$PAGE" || fail "neither a line nor none: $section, $item"
    fi
  done < <(lines_of)
}

# The abilities of a line. Each takes the line from COMMAND.

queues_in_order() {
  local each
  job work/job
  launch first "${COMMAND[@]}"
  wait_until begun work/job 1
  for each in 1 2 3; do
    launch "next$each" "${COMMAND[@]}"
    wait_queued "$K" "$each"
  done
  mapfile -t ORDER < <(json '[w["token"] for w in d["waiters"]]' inspect --json "$K" | jq -r '.[]')
  touch "$T/work/job.go"
  for each in first next1 next2 next3; do
    finish "$each"
    assert_success
  done
  # in the order of the queue, which the fences tell
  run json '[r["token"] for r in reversed(d["locks"][0]["runs"])][1:]' log --json "$K"
  assert_equal "$(jq -r '.[]' <<<"$output" | paste -sd ' ')" "${ORDER[*]}"
  assert_log work/job begin end begin end begin end begin end
}

some_at_once() {
  local count=$1 each
  job work/job
  for ((each = 1; each <= count; each++)); do launch "$each" "${COMMAND[@]}"; done
  wait_until begun work/job "$count"
  launch "$each" "${COMMAND[@]}"
  wait_queued "$K" 1
  begun work/job "$count"
  touch "$T/work/job.go"
  for ((each = 1; each <= count + 1; each++)); do
    finish "$each"
    assert_success
  done
  begun work/job "$((count + 1))"
}

is_skipped() {
  job work/job
  launch first "${COMMAND[@]}"
  wait_until begun work/job 1
  launch second "${COMMAND[@]}"
  finish second
  assert_success
  touch "$T/work/job.go"
  finish first
  assert_success
  assert_log work/job begin end
}

newest_stops_it() {
  job work/job
  launch old "${COMMAND[@]}"
  wait_until begun work/job 1
  queue_up older_waiter "$K" 1 -- true
  launch new "${COMMAND[@]}"
  finish old
  assert_equal "$status" 76
  finish older_waiter
  assert_equal "$status" 75
  wait_until begun work/job 2
  touch "$T/work/job.go"
  finish new
  assert_success
  assert_log work/job begin begin end
}

@test "GitHub, cancel-in-progress: the newest run stops the one under way and sends away the one that waits" {
  policy 'GitHub Actions: concurrency' 'cancel-in-progress: true'
  newest_stops_it
}

@test "GitHub, the default: the newest takes the place of the one that waits, the one under way is left alone" {
  policy 'GitHub Actions: concurrency' 'cancel-in-progress: false'
  job work/job
  launch first "${COMMAND[@]}"
  wait_until begun work/job 1
  launch second "${COMMAND[@]}"
  wait_queued "$K" 1
  launch third "${COMMAND[@]}"
  finish second
  assert_equal "$status" 75
  touch "$T/work/job.go"
  finish first
  assert_success
  finish third
  assert_success
  assert_log work/job begin end begin end
}

@test "GitHub, queue: max: 100 wait in order, one more does not" {
  policy 'GitHub Actions: concurrency' 'queue: max'
  queues_in_order
  hold holder -k "$K"
  redis eval 'for i = 1, 100 do redis.call("zadd", KEYS[1], i, "w" .. i) redis.call("zadd", KEYS[2], ARGV[1], "w" .. i) end' \
    2 "$(companion "$K" queue)" "$(companion "$K" alive)" "$(($(now_ms) + 60000))"
  launch late "${COMMAND[@]}"
  finish late
  assert_equal "$status" 75
  let_go holder
}

@test "GitLab, unordered: one at a time" {
  policy 'GitLab: process modes of a resource group' 'unordered'
  queues_in_order
}

@test "GitLab, oldest_first: one at a time, in the order of asking" {
  policy 'GitLab: process modes of a resource group' 'oldest_first'
  queues_in_order
}

@test "Buildkite, ordered: three at once" {
  policy 'Buildkite: concurrency_method' 'ordered'
  some_at_once 3
}

@test "Buildkite, eager: three at once" {
  policy 'Buildkite: concurrency_method' 'eager'
  some_at_once 3
}

@test "Jenkins, lock: first come, first served" {
  policy 'Jenkins: lockable resources' "lock('KEY')"
  queues_in_order
}

@test "Jenkins, skipIfLocked: nothing runs, and that is no failure" {
  policy 'Jenkins: lockable resources' 'skipIfLocked: true'
  is_skipped
}

@test "Jenkins, extra: both locks or none" {
  policy 'Jenkins: lockable resources' "extra: [[resource: 'KEY2']]"
  job work/job
  hold other -k "$K:2"
  launch both "${COMMAND[@]}"
  wait_queued "$K:2" 1
  [[ ! -e $T/work/job.log ]]
  let_go other
  wait_until begun work/job 1
  held "$K"
  held "$K:2"
  touch "$T/work/job.go"
  finish both
  assert_success
}

@test "Jenkins, label: each job has one of the pool, and no two the same" {
  policy 'Jenkins: lockable resources' 'label, quantity: 1, variable'
  local each
  program work/job <<<"#!/bin/sh
echo \"begin \$RLOCK_RESOURCE\" >>$T/work/job.log
until [ -e $T/work/job.go ]; do sleep 0.02; done"
  launch 1 "${COMMAND[@]}"
  launch 2 "${COMMAND[@]}"
  wait_until begun work/job 2
  assert_equal "$(sort "$T/work/job.log" | paste -sd ,)" 'begin blue,begin red'
  launch 3 "${COMMAND[@]}"
  wait_queued "$K" 1
  touch "$T/work/job.go"
  for each in 1 2 3; do
    finish "$each"
    assert_success
  done
  begun work/job 3
}

@test "Kubernetes, Forbid: a run that finds another is skipped" {
  policy 'Kubernetes CronJob: concurrencyPolicy' 'Forbid'
  is_skipped
}

@test "Kubernetes, Replace: a new run stops the one under way" {
  policy 'Kubernetes CronJob: concurrencyPolicy' 'Replace'
  newest_stops_it
}

@test "Nomad, prohibit_overlap: a run that finds another is skipped" {
  policy 'Nomad: periodic' 'prohibit_overlap = true'
  is_skipped
}

@test "ShedLock, lockAtMostFor: the lock outlives its host by that time, and no longer" {
  policy 'ShedLock' 'lockAtMostFor'
  is_skipped
  rm "$T/work/job.go"
  launch dies "${COMMAND[@]}"
  wait_until begun work/job 2
  kill_host dies
  assert_less "$(redis pttl "$K")" 600001
  assert_less 500000 "$(redis pttl "$K")"
}

@test "ShedLock, lockAtLeastFor: a quick job leaves the lock taken" {
  policy 'ShedLock' 'lockAtLeastFor'
  job work/job
  touch "$T/work/job.go"
  launch first "${COMMAND[@]}"
  finish first
  launch second "${COMMAND[@]}"
  finish second
  assert_success
  assert_log work/job begin end
  assert_less "$(redis pttl "$K")" 54001
}

# rows: what flock is given, a tab, and what rlock is given, for a file and a key that are free
rows() {
  awk '/^\.Sh COMING FROM FLOCK/ { inside = 1 } /^\.Ed/ { inside = 0 }
    inside && /^flock/ { i = index($0, "  rlock"); a = substr($0, 1, i - 1); sub(/ +$/, "", a); print a "\t" substr($0, i + 2) }' "$PAGE"
}

@test "from flock: each line runs the command and exits as flock does, also when it had to wait" {
  local flock rlock count=0 each
  at_home
  while IFS=$'\t' read -r flock rlock <&3; do
    count=$((count + 1))
    : >"$T/file"
    for each in "${flock//FILE/$T/file}" "${rlock//KEY/$K}"; do
      job work/job 3
      rm -f "$T/work/job.log" "$T/work/job.go"
      launch "$count" sh -c "${each/CMD/./job}"
      wait_until begun work/job 1
      touch "$T/work/job.go"
      finish "$count"
      assert_equal "$status" 3
    done
  done 3< <(rows)
  assert_less 6 "$count"
}

@test "from flock: on a lock that is held each line waits or gives up as flock does" {
  local flock rlock theirs ours
  at_home
  job work/job
  touch "$T/work/job.go"
  : >"$T/file"
  while IFS=$'\t' read -r flock rlock <&4; do
    flock=${flock//FILE/$T/file}
    rlock=${rlock//KEY/$K}
    hold holder -k "$K"
    launch flock flock "$T/file" "$LIB/until-file" "$T/holder.go"
    wait_until says "$T/flock.out" started
    launch theirs sh -c "exec ${flock/CMD/./job}"
    launch ours sh -c "exec ${rlock/CMD/./job}"
    if [[ $flock == *' -n '* ]]; then
      finish theirs
      theirs=$status
      finish ours
      ours=$status
      [[ $flock == *-E* ]] || theirs=${theirs/#1/75} # the page says so
      assert_equal "$ours" "$theirs"
      [[ ! -e $T/work/job.log ]]
    else
      wait_queued "$K" 1
    fi
    let_go holder
    finish flock
    finish theirs
    finish ours
    if [[ $flock != *' -n '* ]]; then
      assert_equal "$flock: $(grep -c end "$T/work/job.log")" "$flock: 2"
      rm "$T/work/job.log"
    fi
  done 4< <(rows)
}

@test "from flock: what the command leaves behind does not keep the lock, unless it is told to wait for it" {
  local rlock key=$K count=0
  at_home
  program work/job <<<"#!/bin/sh
'$LIB/until-file' '$T/left.go' >/dev/null 2>&1 &"
  while IFS=$'\t' read -r _ rlock <&4; do
    K=$key:$((++count))
    rlock=${rlock//KEY/$K}
    launch ours sh -c "exec ${rlock/CMD/./job}"
    finish ours
    assert_success
    free "$K"
  done 4< <(rows)
  touch "$T/left.go"
}
