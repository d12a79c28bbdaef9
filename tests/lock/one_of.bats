#!/usr/bin/env bats
# --one-of: permits that have names.
load ../lib/rlock

# holds_one NAME RESOURCE [RLOCK OPTION...]: a holder that was told that name.
holds_one() {
  local name=$1 resource=$2
  shift 2
  rm -f "$T/$name.go"
  # shellcheck disable=SC2016
  start "$name" -k "$K" "$@" -- sh -c 'echo "$RLOCK_PERMIT is $RLOCK_RESOURCE."; exec "$LIB/until-file" "$0"' "$T/$name.go"
  wait_until says "$T/$name.out" started
  says "$T/$name.out" " is $resource." || fail "$name: $(<"$T/$name.out")"
}

@test "each has the first name that is free; one more is busy" {
  holds_one one 'gpu 0' --one-of 'gpu 0,gpu:1'
  holds_one two 'gpu:1' --one-of 'gpu 0,gpu:1'
  says "$T/two.out" '2 is gpu:1.'
  attempt -k "$K" --one-of 'gpu 0,gpu:1' -- touch "$T/ran"
  assert_equal "$status" 75
  let_go one
  holds_one three 'gpu 0' --one-of 'gpu 0,gpu:1'
  let_go two
  let_go three
  [[ ! -e $T/ran ]]
  free "$K"
}

@test "a single name is one permit, and none of a plain lock" {
  holds_one one a --one-of a
  attempt -k "$K" --one-of a -- touch "$T/ran"
  assert_equal "$status" 75
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  let_go one
  [[ ! -e $T/ran ]]
}

@test "inspect, list and the status file say who has which" {
  holds_one one a --one-of a,b --status-file "$T/status"
  holds_one two b --one-of a,b
  assert_equal "$(json '[d["mode"], d["permits"], d["resources"]]' inspect --json "$K")" '["permits", 2, ["a", "b"]]'
  assert_equal "$(json '[[h["pid"], h["permit"], h["resource"]] for h in d["locks"][0]["holders"]]' list --json "$K")" \
    "[[${PIDS[one]}, 1, \"a\"], [${PIDS[two]}, 2, \"b\"]]"
  attempt inspect "$K"
  assert_line --regexp '^mode +one of a,b$'
  assert_line --regexp '^permit +1 \(a\)$'
  assert_line --regexp '^permit +2 \(b\)$'
  let_go one
  let_go two
  run "$PYTHON" -c 'import json, sys; k = json.load(open(sys.argv[1]))["keys"][0]; print(k["permit"], k["resource"])' "$T/status"
  assert_output '1 a'
}

@test "users of a key agree on the list, its order and its number: 78 names one who does not" {
  local other
  holds_one one a --one-of a,b
  for other in --one-of=b,a --one-of=a --one-of=a,b,c --permits=2; do
    attempt -k "$K" "$other" -w 10s -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "'$K' is used with --one-of a,b by $(id -un)@" "this run says ${other/=/ }"
  done
  attempt -k "$K" -w 10s -- touch "$T/ran"
  assert_equal "$status" 78
  let_go one
  [[ ! -e $T/ran ]]
  attempt -k "$K" --one-of b,a -- true # the key is unused now
  assert_success
}

@test "a step also gets it" {
  attempt acquire -k "$K" --one-of 'gpu 0,gpu 1' --ttl 60s --export
  assert_success
  eval "$output"
  assert_equal "$RLOCK_PERMIT $RLOCK_RESOURCE" '1 gpu 0'
  GITHUB_OUTPUT=$T/out attempt acquire -k "$K" --one-of 'gpu 0,gpu 1' --ttl 60s --github-output
  assert_success
  grep -x 'permit=2' "$T/out"
  grep -x 'resource=gpu 1' "$T/out"
  attempt release # of RLOCK_TOKEN
  assert_success
  holds_one one 'gpu 0' --one-of 'gpu 0,gpu 1'
  let_go one
}

@test "a run inside keeps what the outer one was told" {
  # shellcheck disable=SC2016
  attempt -k "$K" --one-of a,b -- "$RLOCK_BIN" -k "$K" --one-of a,b --reentrant -- sh -c 'echo "$RLOCK_PERMIT $RLOCK_RESOURCE"'
  assert_success
  assert_output '1 a'
  # shellcheck disable=SC2016
  attempt -k "$K" --one-of a,b -- "$RLOCK_BIN" -k "$K:other" -- sh -c 'echo "${RLOCK_PERMIT-none} ${RLOCK_RESOURCE-none}"'
  assert_success
  assert_output 'none none'
}

@test "a list that is none is a usage error" {
  local list
  for list in '' ',' 'a,' ',a' 'a,,b' 'a,b,a' $'a\tb' "$(printf 'x%.0s' {1..65})"; do
    attempt -k "$K" --one-of "$list" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_one_stderr_line '--one-of: '
  done
  [[ ! -e $T/ran ]]
}

# The kernel is the recorder: the job has flock(1)'s lock on its name's file for as long as a process of it lives. Of
# twenty runs one kills its whole tree, and with it goes the file's lock, while the name stays taken for the lease.
@test "200 runs on 7 names, waiting and dying: no name twice at once, and everybody has a turn" {
  local names=n1,n2,n3,n4,n5,n6,n7 ran
  mkdir "$T/names"
  export T K names
  # shellcheck disable=SC2016,SC2089
  job='exec 9>"$T/names/$RLOCK_RESOURCE"
    flock -n 9 || echo "$RLOCK_RESOURCE is taken" >>"$T/twice"
    echo "$1 $RLOCK_RESOURCE $RLOCK_PERMIT" >>"$T/ran"
    if [ $(($1 % 20)) = 7 ]; then
      read -r _ _ _ rlock _ <"/proc/$PPID/stat"
      kill -KILL "$rlock" "$PPID" $$
    fi
    sleep "0.0$(($1 % 9))"'
  # shellcheck disable=SC2090
  export job
  # shellcheck disable=SC2016
  seq 200 | xargs -P 12 -I '{}' sh -c '
    ttl=30s
    [ $(({} % 20)) != 7 ] || ttl=2s
    code=0
    "$RLOCK_BIN" -q -k "$K" --one-of "$names" -w 300s --ttl "$ttl" -- sh -c "$job" job {} 2>>"$T/err" || code=$?
    echo "{} $code" >>"$T/codes"' 2>/dev/null 3>&-
  [[ ! -e $T/twice ]] || fail "$(<"$T/twice")"
  ran=$(cut -d' ' -f1 "$T/ran" | sort -un | wc -l)
  assert_equal "$ran" 200
  assert_equal "$(grep -vc ' 0$' "$T/codes")" 10 # those that killed themselves
  assert_equal "$(cut -d' ' -f2,3 "$T/ran" | sort -u | paste -sd' ')" 'n1 1 n2 2 n3 3 n4 4 n5 5 n6 6 n7 7'
  wait_free "$K"
}
