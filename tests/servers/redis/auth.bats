#!/usr/bin/env bats
# Passwords, ACL users and databases; no output, process list or token ever shows a password.
load ../../lib/rlock

# acl_user NAME PASSWORD RULE...
acl_user() {
  local name=$1 password=$2
  shift 2
  redis acl setuser "$name" on ">$password" resetchannels "$@" >/dev/null
}

as_root_of_server() {
  REDISCLI_AUTH=right redis --no-auth-warning "$@"
}

@test "the password comes from the URL" {
  own_server --requirepass 'p@ss:w/rd'
  run rlock -S "unix://:p%40ss%3Aw%2Frd@$SERVER/redis.sock" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "the password comes from --password-file, its first line" {
  own_server --requirepass right
  install -m 600 /dev/null "$T/password"
  printf 'right\nsecond line\n' >"$T/password"
  run rlock --password-file "$T/password" -k "$K" -- echo ran
  assert_output ran
  printf 'right' >"$T/password"
  RLOCK_PASSWORD_FILE=$T/password run rlock -k "$K" -- echo ran
  assert_output ran
  run rlock inspect "$K" --password-file "$T/password"
  assert_success
}

@test "the password comes from REDISCLI_AUTH" {
  own_server --requirepass right
  REDISCLI_AUTH=right run rlock -k "$K" -- echo ran
  assert_output ran
}

@test "the password comes from the config file" {
  own_server --requirepass right
  printf 'server = unix://:right@%s/redis.sock\n' "$SERVER" >"$T/conf"
  unset RLOCK_SERVER
  run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
}

@test "URL before password file before REDISCLI_AUTH" {
  own_server --requirepass right
  install -m 600 /dev/null "$T/wrong"
  install -m 600 /dev/null "$T/right"
  echo wrong >"$T/wrong"
  echo right >"$T/right"
  REDISCLI_AUTH=wrong run rlock -S "unix://:right@$SERVER/redis.sock" --password-file "$T/wrong" -k "$K" -- echo ran
  assert_output ran
  REDISCLI_AUTH=wrong run rlock --password-file "$T/right" -k "$K" -- echo ran
  assert_output ran
}

# file_of_config: $T/conf names a password file, for the server with that password.
file_of_config() {
  own_server --requirepass right
  (umask 077 && echo right >"$T/password")
  printf 'server = %s\npassword-file = %s\n' "$RLOCK_SERVER" "$T/password" >"$T/conf"
  unset RLOCK_SERVER
}

# auths SERVER: how often that server was sent a password.
auths() {
  redis-cli -s "$1/redis.sock" info commandstats | sed -n 's/^cmdstat_auth:calls=\([0-9]*\),.*/\1/p'
}

@test "the password of a config file is not sent to a server that a variable names: 78, with what to do" {
  local arguments other=$SERVER
  file_of_config
  for arguments in "-k $K -- touch $T/ran" "acquire -t 1s -k $K" "inspect $K" list doctor "release --token a $K"; do
    # shellcheck disable=SC2086
    RLOCK_CONFIG=$T/conf RLOCK_SERVER=unix://$other/redis.sock attempt $arguments
    assert_equal "$status" 78
    assert_one_stderr_line "$T/conf:2: password-file" RLOCK_SERVER RLOCK_PASSWORD_FILE --server
  done
  RLOCK_SERVER="redis://:a@127.0.0.1:1 unix://$other/redis.sock redis://:a@127.0.0.1:2" \
    attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  RLOCK_SERVER=zk://app@127.0.0.1:1 attempt --config "$T/conf" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  [[ ! -e $T/ran && -z $(auths "$other") ]]
}

@test "the advice of that line helps: a password file of its own, none, or the server on the command line" {
  local mine=$SERVER other
  file_of_config
  other=unix://$SERVER/redis.sock
  (umask 077 && echo right >"$T/mine")
  RLOCK_SERVER="$other?db=1" RLOCK_PASSWORD_FILE=$T/mine run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
  RLOCK_SERVER=unix://$mine/redis.sock RLOCK_PASSWORD_FILE=/dev/null run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
  [[ -z $(auths "$mine") ]]
  run rlock --config "$T/conf" -S "$other?db=1" -k "$K" -- echo ran
  assert_output ran
}

@test "a server of a variable goes with the password of that URL and of REDISCLI_AUTH, or needs none" {
  local in_url
  file_of_config
  in_url="unix://:right@$SERVER/redis.sock?db=1"
  echo wrong >"$T/password"
  RLOCK_SERVER=$in_url run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
  RLOCK_SERVER="unix://$SERVER/redis.sock?db=1" REDISCLI_AUTH=right run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
  RLOCK_SERVER=file://$T/locks run rlock --config "$T/conf" -k "$K" -- echo ran
  assert_output ran
}

@test "an rlock in the job, and a step, have the password that the config file gave for a server of the command line" {
  file_of_config
  export RLOCK_CONFIG=$T/conf
  run rlock -S "unix://$SERVER/redis.sock?db=1" -k "$K" -- sh -c "$RLOCK_BIN check && $RLOCK_BIN -k inner -- echo ran"
  assert_output ran
  run rlock -k "$K" -- sh -c "$RLOCK_BIN check && printenv RLOCK_PASSWORD_FILE || echo ran"
  assert_output ran
  run rlock acquire --export -S "unix://$SERVER/redis.sock?db=1" -k "$K" -t 1m
  assert_success
  eval "$output"
  run rlock release
  assert_success
}

@test "a password file that is missing exits 78" {
  attempt --password-file "$T/missing" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line "$T/missing"
  [[ ! -e $T/ran ]]
}

@test "no password exits 77 with the server's words" {
  own_server --requirepass right
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line 'NOAUTH Authentication required; a password comes from --password-file, from REDISCLI_AUTH or from the URL'
  attempt inspect "$K"
  assert_equal "$status" 77
  [[ ! -e $T/ran ]]
}

@test "a wrong password exits 77 at once, waiting or not" {
  local before
  own_server --requirepass right
  before=$(now_ms)
  REDISCLI_AUTH=wrong attempt -k "$K" -w 60s -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line WRONGPASS
  assert_stderr_line '; the password came from REDISCLI_AUTH'
  assert_less $(($(now_ms) - before)) 20000
  [[ ! -e $T/ran ]]
}

@test "the message about a refused password names its source, and never the password" {
  own_server --requirepass right
  (umask 077 && echo geheim >"$T/password")
  attempt --password-file "$T/password" -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line "; the password came from the file '$T/password' (--password-file)"
  REDISCLI_AUTH=other attempt -S "unix://:geheim@$SERVER/redis.sock" -k "$K" -- true
  assert_one_stderr_line '; the password came from the URL in --server'
  RLOCK_SERVER="unix://:geheim@$SERVER/redis.sock" attempt inspect "$K"
  assert_one_stderr_line '; the password came from the URL in RLOCK_SERVER'
  refute grep -q geheim "$T/attempt.err"
  attempt -S "unix://default@$SERVER/redis.sock" -k "$K" -- true
  assert_one_stderr_line '; no password was given'
}

@test "a user who may not exits 77 with NOPERM" {
  own_server
  acl_user guest guest '+@read' '~*'
  attempt -S "unix://guest:guest@$SERVER/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line NOPERM
  acl_user outsider outsider '+@all' '~other:*'
  attempt -S "unix://outsider:outsider@$SERVER/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_stderr_line NOPERM
  [[ ! -e $T/ran ]]
}

@test "a database number is selected" {
  run rlock -S "unix://$SERVER/redis.sock?db=3" -k "$K" -- redis-cli -s "$SERVER/redis.sock" -n 3 exists "$K"
  assert_output 1
  hold first -S "unix://$SERVER/redis.sock?db=3" -k "$K"
  run rlock -k "$K" -- echo other database
  assert_output 'other database'
  let_go first
  attempt -S "unix://$SERVER/redis.sock?db=99" -k "$K" -- touch "$T/ran"
  [[ $status -ne 0 && ! -e $T/ran ]]
  assert_stderr_line 'DB index'
}

@test "redis:// over TCP, with user, password and database" {
  local port
  port=$(free_port)
  own_server --port "$port" --bind 127.0.0.1
  acl_user locker 's:cret' '+@all' '~*'
  run rlock -S "redis://locker:s%3Acret@127.0.0.1:$port/2" -k "$K" -- redis-cli -s "$SERVER/redis.sock" -n 2 exists "$K"
  assert_output 1
  run rlock -S "redis://localhost:$port" -k "$K" -- redis-cli -s "$SERVER/redis.sock" exists "$K"
  assert_output 1
  redis config set requirepass right
  run rlock -S "redis://:right@localhost:$port/0" -k "$K" -- echo ran
  assert_output ran
}

@test "no password in messages, tokens, the process list or the job's environment" {
  local url=unix://:hunter2@$FILE_SERVER/nowhere.sock
  attempt -v -S "$url" -k "$K" -- true
  assert_equal "$status" 69
  [[ $stderr != *hunter2* ]]
  own_server --requirepass hunter2
  install -m 600 /dev/null "$T/password"
  echo hunter2 >"$T/password"
  run rlock -v --password-file "$T/password" -k "$K" -- sh -c 'env; tr "\0" " " <"/proc/$PPID/cmdline"'
  assert_success
  [[ $output != *hunter2* ]]
  run rlock -v -S "unix://:hunter2@$SERVER/redis.sock" -k "$K" -- sh -c 'env; tr "\0" " " <"/proc/$PPID/cmdline"'
  assert_success
  [[ $output == *RLOCK_TOKEN=* ]]
  [[ ${output//RLOCK_SERVER=*redis.sock/} != *hunter2* ]]
}

@test "a user in the URL without a password is that user, or nobody: 77" {
  own_server
  redis acl setuser nobody on nopass '~*' +@all >/dev/null
  attempt -S "unix://nobody@$SERVER/redis.sock" -k "$K" -- redis-cli -s "$SERVER/redis.sock" ping
  assert_success
  redis acl setuser nobody -eval -evalsha >/dev/null
  attempt -S "unix://nobody@$SERVER/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  attempt -S "unix://stranger:@$SERVER/redis.sock" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_one_stderr_line WRONGPASS
  [[ ! -e $T/ran ]]
}

@test "%00 in a URL is refused: 78" {
  local url
  for url in "unix://$SERVER/redis.sock%00x" "redis://a%00b:c@localhost" "unix://$SERVER/redis.sock?db=1%00" \
    "redis://localhost%00" "redis://localhost,localhost%00:1/2" "redis+sentinel://localhost%00/main" "file://$T/x%00y"; do
    attempt -S "$url" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line '%-escape'
  done
  [[ ! -e $T/ran ]]
}

# new_password TEXT OLD: the server takes it from now on, the file has it, and all connections are cut.
new_password() {
  local text=$1 old=$2
  echo "$text" >"$T/password"
  REDISCLI_AUTH=$old redis --no-auth-warning config set requirepass "$text" >/dev/null
  REDISCLI_AUTH=$text redis --no-auth-warning client kill type normal skipme yes >/dev/null
}

@test "a password that is replaced while a job runs costs neither the job nor who waits for it" {
  local number
  own_server --requirepass word-0
  install -m 600 /dev/null "$T/password"
  echo word-0 >"$T/password"
  export RLOCK_PASSWORD_FILE=$T/password
  hold holder -k "$K" -t 3s
  start waiter -k "$K" -w 60s -- echo ran
  wait_until says "$T/waiter.err" waiting
  for number in 1 2 3; do
    new_password "word-$number" "word-$((number - 1))"
    sleep 1.5
  done
  let_go holder
  assert_success
  assert_silent
  finish waiter
  assert_success
  assert_output ran
  REDISCLI_AUTH=word-3 run redis --no-auth-warning exists "$K"
  assert_output 0
}

@test "a waiter asks again when the server takes a new password before the file has it, and gets the lock" {
  own_server --requirepass word-0
  (umask 077 && echo word-0 >"$T/password")
  export RLOCK_PASSWORD_FILE=$T/password
  hold holder -k "$K" -t 30s
  start waiter -k "$K" -w 60s -- echo ran
  wait_until says "$T/waiter.err" waiting
  REDISCLI_AUTH=word-0 redis --no-auth-warning config set requirepass word-1 >/dev/null
  REDISCLI_AUTH=word-1 redis --no-auth-warning client kill type normal skipme yes >/dev/null
  wait_until says "$T/waiter.err" WRONGPASS
  echo word-1 >"$T/password"
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output ran
}

@test "a waiter that the server goes on refusing ends with 77 after some seconds, or with its wait" {
  local from
  own_server --requirepass word-0
  (umask 077 && echo word-0 >"$T/password")
  export RLOCK_PASSWORD_FILE=$T/password
  hold holder -k "$K" -t 60s
  start patient -k "$K" -w 60s -- touch "$T/ran"
  start hasty -k "$K" -w 2s -- touch "$T/ran"
  wait_until says "$T/patient.err" waiting
  wait_until says "$T/hasty.err" waiting
  from=$(now_us)
  REDISCLI_AUTH=word-0 redis --no-auth-warning config set requirepass word-1 >/dev/null
  REDISCLI_AUTH=word-1 redis --no-auth-warning client kill type normal skipme yes >/dev/null
  finish hasty
  assert_equal "$status" 77
  finish patient
  assert_equal "$status" 77
  # Longer than one refusal takes, and nowhere near the end of the wait.
  assert_less 4 "$((($(now_us) - from) / 1000000))"
  assert_less "$((($(now_us) - from) / 1000000))" 40
  [[ ! -e $T/ran ]]
  echo word-1 >"$T/password"
  let_go holder
  assert_success
}

@test "a password that is replaced in the last moment of a job does not keep the lock" {
  own_server --requirepass word-0
  install -m 600 /dev/null "$T/password"
  echo word-0 >"$T/password"
  export RLOCK_PASSWORD_FILE=$T/password
  hold holder -k "$K" -t 60s
  new_password word-1 word-0
  let_go holder
  assert_success
  assert_silent
  REDISCLI_AUTH=word-1 run redis --no-auth-warning exists "$K"
  assert_output 0
}

@test "a password file is read once more for each refusal, and no oftener" {
  own_server --requirepass right
  install -m 600 /dev/null "$T/password"
  echo wrong >"$T/password"
  attempt --password-file "$T/password" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  assert_equal "$(REDISCLI_AUTH=right redis --no-auth-warning info commandstats | sed -n 's/^cmdstat_auth:calls=\([0-9]*\),.*/\1/p')" 3
  attempt --password-file <(echo wrong) -k "$K" -- touch "$T/ran"
  assert_equal "$status" 77
  [[ ! -e $T/ran ]]
}

@test "the servers of a quorum share the password that one of them had rlock read again" {
  local number urls=''
  local -a servers=()
  install -m 600 /dev/null "$T/password"
  echo word-0 >"$T/password"
  for number in 0 1 2; do
    own_server --requirepass word-0
    servers+=("$SERVER")
    urls+=" unix://$SERVER/redis.sock"
  done
  RLOCK_SERVER=${urls# }
  export RLOCK_PASSWORD_FILE=$T/password
  hold holder -k "$K" -t 3s
  echo word-1 >"$T/password"
  for number in 0 1 2; do
    REDISCLI_AUTH=word-0 redis-cli --no-auth-warning -s "${servers[number]}/redis.sock" config set requirepass word-1 >/dev/null
    REDISCLI_AUTH=word-1 redis-cli --no-auth-warning -s "${servers[number]}/redis.sock" client kill type normal skipme yes >/dev/null
  done
  sleep 4
  let_go holder
  assert_success
  assert_silent
}
