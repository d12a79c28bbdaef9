# shellcheck shell=bash
# What the contract asks of every kind of store and of every way to one, for contract.bats (a store with code of its own
# keeps the whole contract) and connections.bats (where only the connection differs, this part is enough).

job_runs_under_the_lock() {
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo "$RLOCK_KEY $RLOCK_HELD $RLOCK_TOKEN $RLOCK_FENCE"; exit 7'
  assert_equal "$status" 7
  assert_silent
  [[ $output == "$K 1 "*@*'#'*' '[1-9]* ]]
  wait_free "$K"
}

waiter_runs_after_the_release() {
  hold holder -k "$K"
  stand_in_line waiter "$K" -- echo 'my turn'
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  wait_free "$K"
}

lock_of_a_killed_holder_passes_on() {
  hold holder -k "$K" --ttl 4s
  stand_in_line waiter "$K" --ttl 4s -- echo 'my turn'
  signal KILL holder
  end_job_of_killed
  finish waiter
  assert_success
  assert_output 'my turn'
}

inspect_and_list_show_the_holder() {
  hold holder -k "$K" --label nightly
  attempt inspect "$K"
  assert_success
  [[ $output == *"$K"*held*nightly*fence* ]]
  assert_equal "$(seen "$K" 'd["holders"][0]["label"]')" nightly
  run json '[each["key"] for each in d["locks"]]' list --json "$K"
  assert_output "[\"$K\"]"
  attempt list 'none-such*'
  assert_success
  assert_output ''
  let_go holder
  attempt inspect -q "$K"
  assert_equal "$status" 1
}

force_release_passes_the_lock_on() {
  hold holder -k "$K"
  stand_in_line waiter "$K" -- echo 'my turn'
  attempt force-release --yes "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
  assert_stderr_line 'lost the lock'
  finish waiter
  assert_success
  assert_output 'my turn'
}

several_keys_all_or_none() {
  hold holder -k "$K:b"
  attempt -k "$K:a" -k "$K:b" -- touch "$T/ran"
  assert_equal "$status" 75
  free "$K:a"
  stand_in_line both "$K:a" -k "$K:b" -- sh -c 'echo "$RLOCK_FENCES" | wc -l'
  let_go holder
  finish both
  assert_success
  assert_output 2
}

doctor_finds_nothing_that_fails() {
  attempt doctor "$K"
  assert_success
  [[ $output == *locking* ]]
}

# rlock was killed: what its job is to be is another test's matter.
end_job_of_killed() {
  touch "$T/holder.go"
  wait_until gone "${PIDS[holder]}"
}

# count_up: adds one to the file "count", in a way that loses when two do it at a time.
count_up() {
  cat <<'SH'
n=$(cat "$T/count"); sleep 0.01; echo $((n + 1)) >"$T/count.$$"; mv "$T/count.$$" "$T/count"
SH
}

never_two_of_a_dozen() {
  local number
  echo 0 >"$T/count"
  for number in {1..12}; do
    start "w$number" -q -k "$K" -w 60s -- sh -c "$(count_up)"
  done
  for number in {1..12}; do
    finish "w$number"
    assert_success
  done
  assert_equal "$(<"$T/count")" 12
}
