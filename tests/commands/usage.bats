#!/usr/bin/env bats
# Bad input gets one line that says what was seen and what is accepted; nothing was touched.
load ../lib/rlock

# refuses CODE 'TEXT' ARG...: exit CODE, one line with TEXT, the job not run, the server not touched.
refuses() {
  local code=$1 text=$2
  shift 2
  attempt "$@"
  assert_equal "$status" "$code"
  assert_output ''
  assert_one_stderr_line "$text"
  [[ ! -e $T/ran ]]
  free "$K"
}

# refuses_option OPTION VALUE: names both, and says what is accepted.
refuses_option() {
  local option=$1 value=$2
  refuses 64 "$option" -k "$K" "$option=$value" -- touch "$T/ran"
  assert_stderr_line "'$value' is not valid"
  assert_stderr_line "expected"
}

@test "rlock alone says how to begin, and is a usage error" {
  attempt
  assert_equal "$status" 64
  assert_output ''
  assert_stderr_line 'rlock -S file: -k demo -- echo hello'
  assert_equal "$(awk 'length > 80' <<<"$stderr")" ''
}

@test "a key without a command is a usage error" {
  refuses 64 'COMMAND' -k "$K"
  refuses 64 'COMMAND' -k "$K" --
}

@test "an unknown word without -k is not run, and the message says how to run it" {
  refuses 64 "unknown command 'frobnicate'; to run a program: rlock -k KEY -- frobnicate" frobnicate
  refuses 64 "unknown command 'lst'; did you mean: rlock list" lst
  refuses 64 "unknown command 'inspct' (did you mean 'inspect'?); for a list: rlock help" help inspct
}

@test "a line that is shown to be copied names the key, whatever is in it" {
  local key
  for key in "it's" 'prod\db' $'new\nline' $'\xff' -dash 'two words'; do
    hold holder -k "$key"
    attempt -k "$key" -- touch "$T/ran"
    assert_equal "$status" 75
    run bash -c "\"\$RLOCK_BIN\" ${stderr##*to see more: rlock }"
    assert_line --partial 'state    held'
    let_go holder
  done
}

@test "flock's options get the ones to write instead" {
  refuses 64 'not file descriptor 9' 9
  refuses 64 'acquire -t 5m -n -k KEY --export' -t 5m -n 9
  refuses 64 'to lock new.lock as flock does: rlock -S file: -n -k new.lock -- ./job.sh' -n new.lock ./job.sh
  refuses 64 'to lock /var/lock/job as flock does: rlock -S file: -n -k /var/lock/job -- ./job.sh' -n /var/lock/job ./job.sh
  cd "$T"
  : >lk
  refuses 64 'to lock lk as flock does: rlock -S file: -k lk -w forever -- ./job.sh' lk ./job.sh
  refuses 64 "unknown option '--fcntl' of flock; leave it out" --fcntl -k "$K" -- touch "$T/ran"
  refuses 64 "unknown option '-o' of flock; leave it out" -o -k "$K" -- touch "$T/ran"
  refuses 64 "unknown option '-F' of flock; leave it out" -F -k "$K" -- touch "$T/ran"
  refuses 64 "unknown option '-u' of flock; to release" -u 9
  rlock --nb -e -k "$K" -- true
  rlock --nonblocking --timeout 0 -k "$K" -- true
  redis set "$K" other px 60000
  attempt --timeout 200ms -e -k "$K" -- touch "$T/ran"
  assert_equal "$status" 75
  assert_stderr_line "gave up on '$K' after 200ms: held by"
}

@test "an unknown option is named" {
  refuses 64 '--frobnicate' -k "$K" --frobnicate -- touch "$T/ran"
  refuses 64 '-Z' -k "$K" -Z -- touch "$T/ran"
  refuses 64 '--frobnicate' inspect "$K" --frobnicate
  refuses 64 "unknown option '--tll'; did you mean '--ttl'?" -k "$K" --tll 5s -- touch "$T/ran"
  refuses 64 "unknown option '--conflict'; did you mean '--conflict-exit-code'?" -k "$K" --conflict 5 -- touch "$T/ran"
  refuses 64 "unknown option '--timout'; did you mean '--timeout'?" -k "$K" --timout 5 -- touch "$T/ran"
}

@test "an option without its value is named" {
  refuses 64 "option '--ttl' needs a value: DUR" -k "$K" --ttl
  refuses 64 "option '-k' needs a value: KEY" -k
}

@test "an empty key is refused" {
  refuses 64 'key' -k '' -- touch "$T/ran"
}

@test "options that there are not are unknown, not ignored" {
  local option
  for option in --until-done --quorum=3; do
    refuses 64 "${option%%=*}" -k "$K" "$option" -- touch "$T/ran"
  done
}

@test "--ttl takes no garbled, negative, empty, short or endless duration" {
  local value
  for value in 5x '' -5s 1h30 5ss s .s 1.2.3s '5 s' nan inf 0 99ms 99999999999999999999d; do
    refuses_option --ttl "$value"
  done
}

@test "--wait takes a duration or forever" {
  local value
  for value in soon '' -1 5x 99999999999999999999d; do
    refuses_option --wait "$value"
  done
}

@test "--grace is a duration and at most half the ttl" {
  refuses_option --grace 5x
  refuses 64 --grace -k "$K" --ttl 10s --grace 6s -- touch "$T/ran"
  assert_stderr_line "'6s' is not valid; expected at most half the TTL, 5s"
  rlock -k "$K" --ttl 10s --grace 5s -- true
}

@test "--conflict-exit-code takes 0 to 255" {
  local value
  for value in 256 -1 x '' 7x 1.5; do
    refuses_option --conflict-exit-code "$value"
  done
}

@test "--on-lost takes stop or warn" {
  refuses_option --on-lost explode
  refuses_option --on-lost ''
}

@test "a URL of another scheme, or a broken one, exits 78" {
  local url
  for url in http://x redisss://x localhost:6379 redis://x:99999 redis://x/one unix:// ''; do
    refuses 78 "$url" -S "$url" -k "$K" -- touch "$T/ran"
  done
  refuses 78 "'localhost:6379' is not valid (no scheme); try redis://localhost:6379" -S localhost:6379 -k "$K" -- touch "$T/ran"
  refuses 78 'try redis://lock1' -S lock1 -k "$K" -- touch "$T/ran"
  refuses 78 'try unix:///run/redis.sock for the socket of a Redis, file:/run/redis.sock for a directory' \
    -S /run/redis.sock -k "$K" -- touch "$T/ran"
  # A text that may be user:password without its @host is not shown.
  for url in redis://x:y redis://:6379:1; do
    refuses 78 "'redis://…' is not valid" -S "$url" -k "$K" -- touch "$T/ran"
  done
}

@test "a broken URL with a password shows no password" {
  refuses 78 'http' -S http://user:hunter2@x -k "$K" -- touch "$T/ran"
  [[ $stderr != *hunter2* ]]
  local url
  for url in redis://user:hunter2@x:99999 user:hunter2@x redis:/user:hunter2@x redis://:hunter2@x/y/z \
    zk:/:/hunter2a://@x redis:/:/hunter2a://@x; do
    refuses 78 'server' -S "$url" -k "$K" -- touch "$T/ran"
    [[ $stderr != *hunter2* ]]
  done
}

@test "a word too many, and an option without the one that it belongs to" {
  refuses 64 "unexpected argument 'b'; the key of acquire stands behind -k" acquire b
  refuses 64 "unexpected argument 'log'; give one COMMAND or TOPIC" help list log
  refuses 64 '--retry works only with --slot' -k "$K" --retry 2 -- touch "$T/ran"
  refuses 64 '--share works only with --slot' -k "$K" --share -- touch "$T/ran"
  RLOCK_VERBOSE=9 refuses 64 "RLOCK_VERBOSE: '9' is not valid; expected 0, 1 or 2" -k "$K" -- touch "$T/ran"
}

@test "inspect and force-release want exactly one key" {
  refuses 64 'no KEY given; for those that are held: rlock list' inspect
  refuses 64 KEY inspect
  refuses 64 two inspect "$K" two
  refuses 64 KEY force-release
}

@test "force-release --wait takes a duration" {
  refuses 64 "'5x' is not valid" force-release "$K" --yes --wait 5x
}

@test "a variable with a bad value is named" {
  RLOCK_TTL=5x refuses 64 RLOCK_TTL -k "$K" -- touch "$T/ran"
  RLOCK_ON_LOST=explode refuses 64 RLOCK_ON_LOST -k "$K" -- touch "$T/ran"
  RLOCK_SERVER=http://x refuses 78 http://x -k "$K" -- touch "$T/ran"
}

@test "control characters in bad input do not reach the terminal raw" {
  attempt -k "$K" --ttl $'5\e[31mx\n' -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line --ttl
  [[ $stderr != *$'\e'* ]]
}

@test "--help and --version answer on stdout and touch nothing" {
  local words
  export RLOCK_SERVER=unix://$T/nowhere.sock
  for words in '--help' '-h' 'help' 'help inspect' '--version' '-V' 'inspect --help' 'list --help' 'force-release --help'; do
    # shellcheck disable=SC2086
    attempt $words
    assert_success
    assert_silent
    [[ -n $output ]]
  done
  attempt --version
  assert_output --regexp '^rlock [0-9]+\.[0-9]+'
  assert_line --regexp '^TLS +(yes|no)'
  assert_line --regexp '^etcd +yes'
  assert_line --regexp '^ZooKeeper +(yes|no)'
  assert_line --regexp '^Libraries +hiredis [0-9.]+, fmt [0-9.]+, CLI11 [0-9.]+, nlohmann-json [0-9.]+$'
}

@test "rlock help TOPIC says what several commands have in common" {
  local topic
  while read -r topic; do
    attempt help "$topic"
    assert_success
    assert_silent
    assert_output --partial 'rlock'
  done < <(rlock --help | sed -n '/^Topics;/,/^$/s/^  \([a-z-]\+\) .*/\1/p' | tee "$T/topics")
  assert_equal "$(xargs <"$T/topics")" 'slot exit-codes servers files environment signals flock options'
  attempt help exit
  assert_line --regexp '^  75 +the lock is busy'
  attempt help wait
  assert_success
  assert_line --regexp '^  -w, --wait DUR +'
  attempt help --ttl
  assert_line --regexp '^  -t, --ttl DUR +'
}

@test "no line of any --help is longer than 80 columns, and each has two examples" {
  local command
  while read -r command; do
    # shellcheck disable=SC2086
    attempt $command --help
    assert_success
    ! grep -qE '.{81}' <<<"$output" || fail "$output"
    (($(grep -c '^  .*rlock' <<<"$output") >= 1)) || fail "no example: $output"
    assert_line --regexp '^Options of every command: -S URL|^Options:'
  done < <(rlock --help | sed -n '/^Commands, /,/^$/s/^  \([a-z-]\+\) .*/\1/p')
  attempt --help
  assert_line '  -k, --key KEY               the lock to take; repeat it to take several, all'
}

@test "at a server that nobody chose a fault says how to choose one" {
  unset RLOCK_SERVER
  HOME=$T attempt -k "$K" --connect-timeout 2s -- touch "$T/ran"
  if [[ $status == 69 ]]; then # a machine may have a server at the default address
    assert_stderr_line 'cannot reach redis://127.0.0.1:6379 (the default): '
  fi
}

@test "a label that is too long is cut, between two characters" {
  local long
  long=$(printf 'x%.0s' {1..99})
  run rlock -k "$K" --label "${long}üyy" -- sh -c 'echo "$RLOCK_TOKEN"'
  assert_success
  assert_output --partial "/$long#"
  refute_output --partial 'ü'
  refuses 64 --label -k "$K" --label '' -- touch "$T/ran"
  refuses 64 --label -k "$K" --label $'a\nb' -- touch "$T/ran"
}
