#!/usr/bin/env bats
# A password goes to its server, and nowhere else: not into output, files, keys, tokens or process lists.
load ../lib/rlock
load ../lib/sentinel
load ../lib/cluster
load ../lib/quorum
load ../lib/tls
load ../lib/zookeeper
load ../lib/etcd
load ../lib/loading

# Both forms hold words that stand nowhere else.
PASSWORD='Zitrone/7@%Wacholder'
IN_URL='Zitrone%2F7%40%25Wacholder'
WORDS='Zitrone|Wacholder'

# note NAME COMMAND...: runs it, and keeps all that it says below $T/said; STATUS is its exit code.
note() {
  local name=$1
  shift
  mkdir -p "$T/said"
  STATUS=0
  "$@" >"$T/said/$name.out" 2>"$T/said/$name.err" 3>&- </dev/null || STATUS=$?
}

# note_rlock NAME CODE ARG...: with -vv.
note_rlock() {
  local name=$1 code=$2
  shift 2
  note "$name" env --default-signal "$RLOCK_BIN" -vv "$@"
  [[ $STATUS == "$code" ]] || fail "$name: status $STATUS, not $code: $(cat "$T/said/$name".*)"
}

assert_nothing_told() {
  local found
  [[ -n $(ls "$T/said") ]]
  found=$(grep -rE "$WORDS" "$T/said") && fail "told: $found"
  return 0
}

# The job's view of rlock and of itself: its environment without RLOCK_SERVER, and process lists.
write_looker() {
  cat >"$T/look" <<'LOOK'
#!/bin/sh
env | grep -v ^RLOCK_SERVER=
rlock=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$PPID/status") # the parent is the guardian
cat "/proc/$rlock/cmdline" "/proc/$PPID/cmdline" "/proc/$$/cmdline" | tr '\0' ' '
LOOK
  chmod +x "$T/look"
}

# every_command [WITHOUT...]: all that rlock can do with the server in RLOCK_SERVER that it can do there.
every_command() {
  local without=" $* " token
  write_looker
  note_rlock run 0 --status-file "$T/said/status" -k "$K" -- "$T/look"
  grep -q RLOCK_TOKEN= "$T/said/run.out"
  grep -q "got .*, fence " "$T/said/run.err"
  note_rlock not-found 127 --status-file "$T/said/status-2" -k "$K" -- "$T/no-such"
  hold holder -vv -k "$K" --status-file "$T/said/status-3"
  note_rlock busy 75 --status-file "$T/said/status-4" -k "$K" -- true
  note_rlock waiting 75 -k "$K" -w 200ms -- true
  note_rlock inspect 0 inspect "$K"
  note_rlock inspect-json 0 inspect --json "$K"
  note_rlock list 0 list
  note_rlock list-json 0 list --json
  note_rlock doctor 0 doctor "$K"
  note_rlock doctor-json 0 doctor --json "$K"
  note_rlock inspect-all 0 inspect "$K"
  wait_until says_done cancel "$K"
  finish holder
  cp "$T/holder.out" "$T/holder.err" "$T/said"
  note_rlock nested 0 -k "$K" -- "$RLOCK_BIN" -vv -k "$K" --reentrant -- "$RLOCK_BIN" -vv check --at-least 0s
  hold holder -vv -k "$K"
  note_rlock force-release 0 force-release --yes --wait 10s "$K"
  finish holder
  cp "$T/holder.out" "$T/holder.err" "$T/said"
  [[ $without != *' steps '* ]] || return 0
  note_rlock acquire 0 acquire -t 60s -k "$K"
  token=$(<"$T/said/acquire.out")
  note_rlock check 0 check --token "$token" -k "$K"
  note_rlock refresh 0 refresh --token "$token" -t 60s -k "$K"
  note_rlock release 0 release --token "$token" -k "$K"
  note_rlock release-again 76 release --token "$token" -k "$K"
  note_rlock export 0 acquire --export -w 5s -t 100ms -k "$K"
  GITHUB_OUTPUT=$T/said/github note_rlock github 0 acquire --github-output -w 5s -t 100ms -k "$K"
}

# A holder is asked at its first second; until then nobody listens.
says_done() {
  note "$1" env --default-signal "$RLOCK_BIN" -vv "$@"
  [[ $STATUS == 0 ]]
}

# every_refusal CODE: a server that does not let us in, for whatever reason.
every_refusal() {
  local code=$1 doctor=1
  write_looker
  note_rlock "refused-$code-run" "$code" --status-file "$T/said/status-$code" -k "$K" -- true
  note_rlock "refused-$code-wait" "$code" -w 300ms -k "$K" -- true
  note_rlock "refused-$code-inspect" "$code" inspect "$K"
  note_rlock "refused-$code-list" "$code" list
  note_rlock "refused-$code-cancel" "$code" cancel "$K"
  note_rlock "refused-$code-force" "$code" force-release --yes "$K"
  note_rlock "refused-$code-doctor" "$doctor" doctor
}

@test "one server: every command, and a server that refuses, is silent or is gone" {
  own_server --requirepass "$PASSWORD"
  export RLOCK_SERVER="unix://:$IN_URL@$SERVER/redis.sock"
  REDISCLI_AUTH=$PASSWORD watch_wire "$T/wire"
  every_command
  REDISCLI_AUTH=$PASSWORD wire_mark "$T/wire" end
  end_watching
  cp "$T/monitor.out" "$T/said/wire"
  REDISCLI_AUTH=$PASSWORD redis --no-auth-warning --raw --eval <(echo '
    local all = {}
    for _, key in ipairs(redis.call("KEYS", "*")) do all[#all + 1] = key .. redis.call("DUMP", key) end
    return all') >"$T/said/keys"
  [[ -s $T/said/wire && -s $T/said/keys ]]
  REDISCLI_AUTH=$PASSWORD redis --no-auth-warning config set requirepass other
  every_refusal 77
  kill_redis "$SERVER"
  every_refusal 69
  assert_nothing_told
}

@test "a server that does not know AUTH and repeats its arguments" {
  own_server --rename-command AUTH ''
  export RLOCK_SERVER="unix://user:$IN_URL@$SERVER/redis.sock"
  every_refusal 69
  assert_nothing_told
}

@test "also a server behind TLS whose certificate is refused" {
  tls_server --requirepass "$PASSWORD"
  export RLOCK_SERVER="rediss://:$IN_URL@127.0.0.1:$TLS_PORT?cacert=$T/ca.crt"
  every_command
  RLOCK_SERVER="rediss://:$IN_URL@127.0.0.1:$TLS_PORT" note_rlock tls-1 69 -k "$K" -- true
  RLOCK_SERVER="rediss://:$IN_URL@localhost:$TLS_PORT?cacert=$T/ca.crt" note_rlock tls-2 69 -k "$K" -- true
  RLOCK_SERVER="redis://:$IN_URL@127.0.0.1:$TLS_PORT" note_rlock tls-3 69 -k "$K" -- true
  RLOCK_SERVER="rediss://:$IN_URL@127.0.0.1:$TLS_PORT?cacert=$T/ca.crt&cert=$T/no&key=$T/no" note_rlock tls-4 78 -k "$K" -- true
  assert_nothing_told
}

@test "sentinels and master with a login each" {
  start_sentinels
  # A user of our own: the sentinels themselves must still be able to look.
  redis acl setuser app on ">$PASSWORD" '~*' '+@all'
  export RLOCK_SERVER="redis+sentinel://app:$IN_URL@${SENTINEL_URL#*://}?sentinel-user=default&sentinel-password=$IN_URL"
  every_command
  RLOCK_SERVER="redis+sentinel://app:wrong$IN_URL@${SENTINEL_URL#*://}" every_refusal 77
  RLOCK_SERVER="redis+sentinel://app:$IN_URL@${SENTINEL_URL#*://}x?sentinel-user=default&sentinel-password=$IN_URL" every_refusal 69
  assert_nothing_told
}

@test "a Cluster" {
  local number
  start_cluster
  for number in {0..5}; do
    redis-cli -s "${NODES[number]}/redis.sock" acl setuser app on ">$PASSWORD" '~*' '+@all'
  done
  export RLOCK_SERVER="redis://app:$IN_URL@${RLOCK_SERVER#*://}"
  every_command
  RLOCK_SERVER="${RLOCK_SERVER/$IN_URL/wrong$IN_URL}" every_refusal 77
  assert_nothing_told
}

@test "a quorum, of which one has a password" {
  start_quorum
  node 2 config set requirepass "$PASSWORD"
  export RLOCK_SERVER="unix://${NODES[0]}/redis.sock unix://:$IN_URL@${NODES[1]}/redis.sock unix://${NODES[2]}/redis.sock"
  every_command
  node 1 config set requirepass other
  RLOCK_SERVER="${RLOCK_SERVER/$IN_URL/wrong$IN_URL}" every_refusal 77
  kill_redis "${NODES[0]}"
  kill_redis "${NODES[2]}"
  every_refusal 69
  assert_nothing_told
}

@test "ZooKeeper: user and password of its digest" {
  start_zookeeper
  export RLOCK_SERVER="zk://app:$IN_URL@127.0.0.1:$ZK_PORT/locks"
  every_command steps
  RLOCK_SERVER="zk://app:wrong$IN_URL@127.0.0.1:$ZK_PORT/locks" note_rlock other 77 -k "$K" -- true
  kill_redis "${OWN_SERVERS[0]}"
  note_rlock gone 69 -k "$K" -- true
  assert_nothing_told
}

@test "etcd: user and password" {
  start_etcd
  etcd_cli "$ETCD_PORT" user add root --new-user-password "$PASSWORD"
  etcd_cli "$ETCD_PORT" user grant-role root root
  etcd_cli "$ETCD_PORT" auth enable
  export RLOCK_SERVER="etcd://root:$IN_URL@127.0.0.1:$ETCD_PORT/locks"
  every_command steps
  RLOCK_SERVER="etcd://root:wrong$IN_URL@127.0.0.1:$ETCD_PORT/locks" note_rlock other 77 -k "$K" -- true
  kill_redis "${OWN_SERVERS[0]}"
  note_rlock gone 69 -k "$K" -- true
  assert_nothing_told
}

@test "a password from a file, from REDISCLI_AUTH and from a config file, and what the job gets of it" {
  own_server --requirepass "$PASSWORD"
  write_looker
  install -m 600 /dev/null "$T/password"
  echo "$PASSWORD" >"$T/password"
  note_rlock from-file 0 --password-file "$T/password" -k "$K" -- "$T/look"
  note_rlock from-file-server 0 --password-file "$T/password" -k "$K" -- printenv RLOCK_SERVER
  REDISCLI_AUTH=$PASSWORD note_rlock from-environment 0 -k "$K" -- env -u REDISCLI_AUTH "$T/look"
  echo "server = unix://:$IN_URL@$SERVER/redis.sock" >"$T/conf"
  unset RLOCK_SERVER
  note_rlock from-config 0 --config "$T/conf" -k "$K" -- "$T/look"
  note_rlock from-config-server 0 --config "$T/conf" -k "$K" -- printenv RLOCK_SERVER
  assert_equal "$(<"$T/said/from-config-server.out")" "unix://$SERVER/redis.sock"
  note_rlock from-config-export 0 --config "$T/conf" acquire --export -w 5s -t 100ms -k "$K"
  assert_nothing_told
}

@test "a URL on the command line: its password is wiped from the process list" {
  own_server --requirepass "$PASSWORD"
  unset RLOCK_SERVER
  write_looker
  note_rlock short 0 -S "unix://:$IN_URL@$SERVER/redis.sock" -k "$K" -- "$T/look"
  note_rlock glued 0 -k "$K" "-Sunix://:$IN_URL@$SERVER/redis.sock" "$T/look"
  note_rlock long 0 --server="unix://:$IN_URL@$SERVER/redis.sock" -k "$K" -- "$T/look"
  note_rlock admin 0 inspect --server "unix://:$IN_URL@$SERVER/redis.sock" "$K"
  grep -q "unix://\*\*\**@$SERVER/redis.sock -k $K" "$T/said/short.out"
  assert_nothing_told
  # A sentinel's too; this one waits for a server that is not there.
  local port
  port=$(free_port)
  start waiter -k "$K" -S "redis+sentinel://h@127.0.0.1:$port/m?sentinel-password=$IN_URL&sentinel-user=x" -w 60s -- true
  wait_until says "/proc/${PIDS[waiter]}/cmdline" 'sentinel-password=***'
  tr '\0' ' ' <"/proc/${PIDS[waiter]}/cmdline" >"$T/said/waiter"
  grep -q '&sentinel-user=x' "$T/said/waiter"
  signal TERM waiter
  finish waiter
  assert_nothing_told
}

@test "the job's arguments are its own, with or without a URL in them" {
  attempt -k "$K" -- printf '%s\n' redis://a:b@c 'x?sentinel-password=y'
  assert_output $'redis://a:b@c\nx?sentinel-password=y'
  attempt -k "$K" printf '%s\n' redis://a:b@c 'x?sentinel-password=y'
  assert_output $'redis://a:b@c\nx?sentinel-password=y'
}

# Every URL that goes wrong somewhere, with the password in it.
garbled_urls() {
  local p
  for p in "$PASSWORD" "$IN_URL" Wacholder; do
    printf '%s\n' "redis://:$p@h:99999" "redis://:$p@h/x" "redis://:$p@h/?a=b" "redis://u:$p@:1" "redis://h/?password=$p" \
      "http://u:$p@h" "redis:u:$p@h" "redis:/u:$p@h" "u:$p@h" ":$p@h" "$p:/u@h" "x:y://$p@h" "redis ://:$p@h" "redis://:%zz$p@h" \
      "redis://:12?$p@h" "redis://u:x@y?$p@h" "redis://:$p @h:0" "redis://:a @ $p@h redis://:$p@h2:0" \
      "redis://:a redis://$p@h redis://:$p@h:0" "redis://:$p@h redis://:$p@h2" "zk://u:$p@h/?a=$p" "zk://:$p@h" "file://u:$p@/x" \
      "unix://:$p@h/x" "unix://:$p@/x?db=y" "rediss://:$p@h?cert=x" "rediss://:$p@h?foo=$p" "redis+sentinel://h?sentinel-password=$p" \
      "redis+sentinel://h/m?sentinel-passwort=$p" "redis+sentinel://h/m?foo=1&sentinel-password=$p" "redis+sentinel://:$p@h/m/x"
  done
  # Without its "@host" a password stands where hosts do.
  for p in Zitrone Wacholder/Zitrone; do
    printf '%s\n' "redis://:$p" "redis://u:$p" "redis://:$p h/" "redis://h,u:$p" "zk://u:$p" "u:$p" ":$p"
  done
}

# garbled_in PLACE: each of them is an error, which does not repeat it.
garbled_in() {
  local place=$1 url number=0
  write_looker
  while IFS= read -r url; do
    ((number += 1))
    "from_$place" "$url" "$number"
    [[ $STATUS == 78 || $STATUS == 64 ]] || fail "$STATUS: $url"
  done < <(garbled_urls)
  assert_less 90 "$number"
  assert_nothing_told
}

from_argv() {
  note "argv-$2" "$RLOCK_BIN" -vv -S "$1" -k "$K" -- true
}

from_environment() {
  RLOCK_SERVER=$1 note "env-$2" "$RLOCK_BIN" -vv doctor
}

from_config() {
  echo "server = $1" >"$T/conf"
  note "conf-$2" env -u RLOCK_SERVER "$RLOCK_BIN" --config "$T/conf" -v inspect x
}

@test "a URL on the command line that cannot be read is not repeated as it is" { garbled_in argv; }
@test "a URL in the environment that cannot be read is not repeated as it is" { garbled_in environment; }
@test "a URL in a config file that cannot be read is not repeated as it is" { garbled_in config; }

@test "nor is one that was written at the wrong place" {
  local url="redis://u:$IN_URL@h/2"
  note_rlock option 64 --servr="$url" -k "$K" -- true
  note_rlock cluster 64 "-XS$url" -k "$K" -- true
  note_rlock glued 64 "--wait$url" -k "$K" -- true
  note_rlock flag 64 --quiet="$url" -k "$K" -- true
  note_rlock operand 64 "$url" -k "$K" -- true
  note_rlock second 64 inspect x "$url"
  note_rlock duration 64 -t "$url" -k "$K" -- true
  note_rlock number 64 --permits "$url" -k "$K" -- true
  note_rlock code 64 -E "$url" -k "$K" -- true
  note_rlock choice 64 --on-lost "$url" -k "$K" -- true
  note_rlock no-operand 64 release "$url"
  RLOCK_TTL=$url note_rlock variable 64 -k "$K" -- true
  RLOCK_QUIET=$url note_rlock yes-or-no 64 -k "$K" -- true
  note_rlock command 127 -k "$K" "$url"
  redis get "$(companion "$K" fence)" >"$T/said/token"
  grep -q "@" "$T/said/token"
  assert_nothing_told
}

@test "a line of a config file is not repeated: it may be a password" {
  local line
  for line in "$PASSWORD" "server redis://:$PASSWORD@h" "server: redis://:$PASSWORD@h" "${PASSWORD}==" "$PASSWORD = x"; do
    printf '%s\n' "$line" >"$T/conf"
    note_rlock "line-${#line}" 78 --config "$T/conf" -k "$K" -- true
    grep -qF "$T/conf:1" "$T/said/line-${#line}.err"
  done
  assert_nothing_told
}

# core_limit_of PID: soft and hard
core_limit_of() {
  sed -n 's/^Max core file size *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p' "/proc/$1/limits"
}

# hold_with_core NAME COMMAND...: rlock with a password and a job, where core files may be written, in $T/cores.
hold_with_core() {
  local name=$1
  shift
  own_server --requirepass "$PASSWORD"
  export REDISCLI_AUTH=$PASSWORD
  mkdir -p "$T/cores"
  printf 'server = unix://:%s@%s/redis.sock\n' "$IN_URL" "$SERVER" >"$T/conf"
  chmod 600 "$T/conf"
  # shellcheck disable=SC2016
  launch "$name" env -u RLOCK_SERVER bash -c 'ulimit -c unlimited; cd "$1"; shift; exec "$@"' - "$T/cores" \
    "$RLOCK_BIN" --config "$T/conf" -k "$K" --ttl 60s -- "$@"
}

# crash PID: by a fault of its own. A signal of others would be passed on to the job.
crash() {
  "$PYTHON" "$LIB/crash.py" "$1"
  kill -WINCH "$1" 2>/dev/null || gone "$1" # it wakes, if it was asleep
  wait_until gone "$1"
}

@test "a crash of rlock or its guardian leaves no core file, which would have the password" {
  local guardian
  hold_with_core holder "$LIB/until-file" "$T/go"
  wait_until says "$T/holder.out" started
  guardian=$(guardian_of holder)
  assert_equal "$(core_limit_of "${PIDS[holder]}")" '1 unlimited'
  assert_equal "$(core_limit_of "$guardian")" '1 unlimited'
  crash "$guardian"
  finish holder
  assert_equal "$status" 137
  hold_with_core other "$LIB/until-file" "$T/go"
  wait_until says "$T/other.out" started
  crash "${PIDS[other]}"
  finish other
  assert_equal "$status" 132
  assert_equal "$(ls "$T/cores")" ''
}

@test "a crash while the command is loaded leaves no core file of rlock's memory" {
  hanging_command
  hold_with_core holder "$T/slow"
  wait_until loading holder
  wait_until in_own_limit "$LOADING"
  kill -QUIT "$LOADING"
  wait_until gone "$LOADING" # the signal comes before the loading goes on
  break_lease
  finish holder
  assert_equal "$(ls "$T/cores")" ''
}

in_own_limit() {
  [[ $(core_limit_of "$1") == 'unlimited unlimited' ]]
}

@test "the job has the limit of core files that rlock was given, and its crash leaves one" {
  local limit
  for limit in 0 7 unlimited; do
    run bash -c 'ulimit -Sc "$0"; exec "$@"' "$limit" "$RLOCK_BIN" -k "$K" -- bash -c 'ulimit -Sc; ulimit -Hc'
    assert_line --index 0 "$limit"
    assert_line --index 1 "$(ulimit -Hc)"
  done
  [[ $(</proc/sys/kernel/core_pattern) == core ]] || skip 'the kernel writes no files named core here'
  hold_with_core holder bash -c 'kill -ABRT $$'
  finish holder
  assert_equal "$status" 134
  run ls "$T/cores"
  assert_output --partial core
}

@test "the job has the limit of core files that rlock was given, also by way of the program with libraries" {
  tls_server
  run bash -c 'ulimit -Sc 7; exec "$@"' - "$RLOCK_BIN" -k "$K" -- bash -c 'ulimit -Sc'
  assert_output 7
}
