#!/usr/bin/env bats
# A server that answers with anything: an error, in time, and never all of the memory. lib/hostile.py has its answers,
# lib/survey.py the requests.
load ../../lib/rlock
load ../../lib/hostile
load ../../lib/quorum

@test "a server that is not Redis at all" {
  start_hostile
  survey http noise zeros noise-forever
  all_refused
  stop_hostile
}

@test "texts, lines and arrays larger than anything" {
  start_hostile
  survey bulk-of-2-gigabytes bulk-of-a-terabyte bulk-beyond-64-bits line-without-end error-without-end \
    integer-without-end wide wide-and-deep wide-and-full wide-beyond-64-bits arrays-without-end
  all_refused
  # hiredis looks at a whole line whenever more of it comes: a long one is not waited for
  assert_less "$(($(cost_of line-without-end.run) + 4096))" "$(cost_of bulk-of-2-gigabytes.run)"
  stop_hostile
}

@test "arrays in arrays, a million deep" {
  start_hostile
  survey deep deep-for-good
  all_refused
  stop_hostile
}

@test "half an answer, and silence, and a byte a second" {
  start_hostile
  survey half-silent half-closed closed silent drip
  all_refused
  stop_hostile
}

@test "the wrong type for every question" {
  start_hostile
  survey nil nil-array empty empty-text empty-error ok zero-bytes nested negative-bulk negative-array \
    integer-beyond-64-bits granted-nothing granted-too-much not-known
  all_refused
  stop_hostile
}

@test "types that only RESP3 has" {
  start_hostile
  survey map set push attribute double bool null large-number verbatim unknown-type
  all_refused
  stop_hostile
}

@test "figures that no arithmetic survives" {
  start_hostile
  survey busy-largest busy-smallest busy-foreign queued-largest queued-foreign report-largest report-smallest
  all_in 0 1 69 75
  # An answer to another question is none. 100 years are what is believed at most.
  run grep -E 'inspect.* 0 ' "$T/survey"
  assert_equal "${#lines[@]}" 4
  run "$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["ttl_ms"])' "$T/report-largest.inspect-json.out"
  assert_output 3153600000000
  assert_clean "$T"/*.out "$T"/*.err
  stop_hostile
}

@test "a server's words about itself are made printable, and cut" {
  start_hostile
  survey info-escape
  all_refused
  assert_clean "$T"/*.err "$T"/*.out
  run grep -c evil "$T/info-escape.doctor.out"
  assert_output 3
  assert_less "$(wc -c <"$T/info-escape.doctor.out")" 2000
  stop_hostile
}

@test "a list of keys that never ends" {
  start_hostile
  survey scan-without-end names-without-end
  all_refused
  stop_hostile
}


# The attacks on a client that has already been served well.
BLOWS=(http line-without-end deep-for-good wide-and-full silent drip ok granted-nothing busy-largest error-without-end)

later() {
  local name=$1
  echo "unix://$HOSTILE/later-$name"
}

@test "while it holds: the job is stopped before the lease is over, 76" {
  local name
  local -A jobs peaks
  start_hostile
  for name in "${BLOWS[@]}"; do
    hold "$name" -S "$(later "$name")" -k "$K:$name" -t 20s --grace 10s # 10 s for us to look at all of them
    jobs[$name]=$(job_of "$name")
  done
  wait_until listening "${#BLOWS[@]}"
  turn_hostile
  wait_until all_jobs_gone
  # all at once: one after the other takes a busy machine longer than the leases last
  assert_equal "$(redis exists "${BLOWS[@]/#/$K:}")" "${#BLOWS[@]}" # or a job outlived its lease
  for name in "${BLOWS[@]}"; do
    assert_less "${peaks[$name]}" "$(memory_bar)"
  done
  for name in "${BLOWS[@]}"; do
    finish "$name"
    assert_equal "$name $status" "$name 76"
  done
  assert_clean "$T"/*.err
  stop_hostile
}

# Notes the peaks meanwhile: rlock is there only moments longer than its job.
all_jobs_gone() {
  local name peak
  for name in "${BLOWS[@]}"; do
    peak=$(peak_of "$name" 2>/dev/null || true)
    peaks[$name]=${peak:-${peaks[$name]-}}
  done
  for name in "${BLOWS[@]}"; do
    gone "${jobs[$name]}" || return 1
  done
}

@test "a bad moment of the server is survived" {
  local name
  start_hostile
  for name in "${BLOWS[@]}"; do
    hold "$name" -S "$(later "$name")" -k "$K:$name" -t 12s
  done
  turn_hostile
  for name in "${BLOWS[@]}"; do
    wait_until says "$T/hostile.log" "said $name" # a refresh, after 4 s
  done
  turn_back
  for name in "${BLOWS[@]}"; do
    wait_refreshed "$K:$name"
    let_go "$name"
    assert_equal "$name $status" "$name 0"
  done
  stop_hostile
}

# turn_on_waiters PATIENCE NAME...: each waits for $K at a server that turns then
turn_on_waiters() {
  local patience=$1 name
  shift
  start_hostile
  hold holder -k "$K"
  for name; do
    start "$name" -S "$(later "$name")" -k "$K" -w "$patience" -- touch "$T/ran"
  done
  wait_queued "$K" "$#"
  turn_hostile
}

@test "while it waits: 69 for nonsense, and nothing is run" {
  local name
  local -a blows=(http line-without-end deep wide ok granted-nothing)
  turn_on_waiters 60s "${blows[@]}"
  for name in "${blows[@]}"; do
    finish "$name"
    assert_equal "$name $status" "$name 69"
  done
  assert_clean "$T"/*.err
  let_go holder
  [[ ! -e $T/ran ]]
  stop_hostile
}

@test "while it waits and no valid answer comes: it waits on until its limit" {
  local name
  local -a blows=(silent drip half-silent half-closed)
  turn_on_waiters 6s "${blows[@]}"
  for name in "${blows[@]}"; do
    finish "$name"
    [[ $status == 69 || $status == 75 ]] || fail "$name: $status"
  done
  assert_clean "$T"/*.err
  let_go holder
  [[ ! -e $T/ran ]]
  stop_hostile
}

@test "while it releases: the job's code stays, and a line warns" {
  local name
  start_hostile
  for name in "${BLOWS[@]}"; do
    start "$name" -S "$(later "$name")" -k "$K:$name" -t 60s -- "$LIB/until-file" "$T/go" 4
    wait_until says "$T/$name.out" started
  done
  turn_hostile
  touch "$T/go"
  for name in "${BLOWS[@]}"; do
    finish "$name"
    assert_equal "$name $status" "$name 4"
    assert_one_stderr_line release
  done
  assert_clean "$T"/*.err
  stop_hostile
}

@test "a Cluster that sends one around, and to places that are none" {
  local first second third
  first=$(free_port) second=$(free_port) third=$(free_port)
  start_hostile "$first=moved:$second" "$second=moved:$first" "$third=asked:$first"
  survey moved-to-nonsense moved-to-nowhere ask-to-nonsense
  all_refused
  survey_urls "redis://127.0.0.1:$first" "redis://127.0.0.1:$third"
  all_refused
  assert_clean "$T"/*.err "$T"/*.out
  stop_hostile
}

@test "a quorum: one such server among three does no harm, two are an error" {
  local kind
  start_quorum
  start_hostile
  for kind in http noise-forever bulk-of-a-terabyte wide-and-full deep half-silent silent drip nil granted-nothing \
    granted-too-much integer-beyond-64-bits map; do
    export RLOCK_SERVER="unix://${NODES[0]}/redis.sock unix://$HOSTILE/$kind unix://${NODES[2]}/redis.sock"
    hold holder -k "$K"
    attempt -k "$K" -- touch "$T/ran"
    assert_equal "$status" 75
    attempt inspect "$K"
    assert_success
    assert_less "$(peak_of holder)" "$(memory_bar)"
    let_go holder
    assert_success
  done
  [[ ! -e $T/ran ]]
  survey_urls "unix://$HOSTILE/nil unix://${NODES[1]}/redis.sock unix://$HOSTILE/noise-forever"
  all_in 69 1
  stop_hostile
}

@test "a Sentinel that names nonsense, itself, or a master that is none" {
  local -a ports
  local number
  for number in {0..5}; do ports+=("$(free_port)"); done
  start_hostile "${ports[0]}=named-escape" "${ports[1]}=named-novel" "${ports[2]}=named:${ports[2]}" \
    "${ports[3]}=named:${ports[4]}" "${ports[4]}=line-without-end" "${ports[5]}=deep"
  for number in {0..5}; do ports[number]=redis+sentinel://127.0.0.1:${ports[number]}/main; done
  survey_urls "${ports[@]}"
  all_refused
  assert_clean "$T"/*.err "$T"/*.out
  stop_hostile
}

# The client library itself does not survive every answer of a server that it has let in: what it could not read it
# hands out all the same, uninitialised. These it does survive. It asks for as much memory as it is told will come, up
# to 2 GB, which costs nothing until it comes, but with a sanitizer it does: "HTTP" says 1.2 GB.
@test "a ZooKeeper that is none" {
  local name
  local -a urls=() ports=()
  local -a names=(closed zk-length-largest zk-length-negative zk-length-0 zk-half zk-many zk-events)
  sanitized || names+=(http noise noise-forever zk-claim zk-endless)
  for name in "${names[@]}"; do
    ports+=("$(free_port)=$name")
    urls+=("zk://127.0.0.1:${ports[-1]%=*}")
  done
  start_hostile "${ports[@]}"
  survey_urls "${urls[@]}"
  all_in 1 64 69 # three of the questions are none to ask a ZooKeeper
  assert_clean "$T"/*.err "$T"/*.out
  stop_hostile
}
