#!/usr/bin/env bats
# rlock doctor: is this server fit to hold locks?
load ../lib/rlock
load ../lib/acl
load ../lib/sentinel

# finding SUBJECT: its verdict in $T/json.
finding() {
  local subject=$1
  "$PYTHON" -c '
import json, sys
print([f["verdict"] for f in json.load(open(sys.argv[1]))["findings"] if f["subject"] == sys.argv[2]][0])' "$T/json" "$subject"
}

doctor() {
  status=0
  rlock doctor --json "$@" >"$T/json" || status=$?
}

@test "a server without anything to remark is fit" {
  own_server --appendonly yes
  doctor
  assert_equal "$status" 0
  local subject
  for subject in reachable version locking waiting memory listing eviction persistence replicas clock; do
    assert_equal "$(finding "$subject")" ok
  done
  attempt doctor
  assert_success
  assert_line --regexp '^ok +reachable +a round trip takes [0-9.]+ ms$'
  assert_line --regexp "^ +server +$RLOCK_SERVER$"
  run redis --raw keys '*'
  assert_output '{rlock:doctor}:rlock:fence'
}

@test "a server that may evict locks is not" {
  own_server --maxmemory 100mb --maxmemory-policy allkeys-lru
  doctor
  assert_equal "$status" 1
  assert_equal "$(finding eviction)" fail
  attempt doctor
  assert_equal "$status" 1
  assert_line --regexp '^fail +eviction +maxmemory-policy is allkeys-lru$'
  [[ ${lines[-1]} == 'NOT fit to hold locks: 1 failure'* ]]
  assert_output --partial 'config set maxmemory-policy noeviction'
}

@test "no persistence is a warning" {
  own_server
  doctor
  assert_equal "$status" 0
  assert_equal "$(finding persistence)" warn
}

@test "nobody there: 1, and what to look at" {
  attempt -S "unix://$T/nobody.sock" doctor
  assert_equal "$status" 1
  assert_line --regexp '^fail +reachable +.*No such file'
  assert_equal "${lines[-1]}" 'NOT fit to hold locks: 1 failure'
}

@test "a wrong password, and none" {
  own_server --requirepass right
  attempt doctor
  assert_equal "$status" 1
  assert_output --partial NOAUTH
  REDISCLI_AUTH=wrong attempt doctor
  assert_equal "$status" 1
  assert_output --partial WRONGPASS
  assert_output --partial '; the password came from REDISCLI_AUTH'
  REDISCLI_AUTH=right attempt doctor
  assert_success
}

@test "a question that the server forbids is unknown, and the others go on" {
  own_server
  least_user
  doctor -S "$LEAST_URL" batch:x
  assert_equal "$status" 0
  assert_equal "$(finding locking)" ok
  assert_equal "$(finding waiting)" ok
  assert_equal "$(finding clock)" ok
  assert_equal "$(finding listing)" warn
  assert_equal "$(finding eviction)" unknown
  attempt doctor -S "$LEAST_URL" batch:x
  assert_line --regexp '^unknown +eviction +not allowed to ask$'
}

@test "a missing permission is a failure that names the command or the key" {
  own_server
  redis acl setuser few on '>word' '~*' -@all +eval +evalsha +get +time +ping >/dev/null
  attempt doctor -S "unix://few:word@$SERVER/redis.sock"
  assert_equal "$status" 1
  assert_line --regexp '^fail +locking +'
  assert_output --partial 'rlock-protocol(7)'
}

@test "a user who may not keep the memory of runs is told which words are missing" {
  own_server
  least_user '' '+lpush +ltrim +lindex +lrem +lrange'
  doctor -S "$LEAST_URL" batch:x
  assert_equal "$status" 0
  assert_equal "$(finding locking)" ok
  assert_equal "$(finding memory)" warn
  attempt doctor -S "$LEAST_URL" batch:x
  assert_output --partial '--reason need +lset on'
  run redis --raw keys '*'
  assert_output '{batch:x}:rlock:fence'
  least_user '' '+lpush +ltrim +lindex +lset +lrem +lrange'
  doctor -S "$LEAST_URL" batch:x
  assert_equal "$(finding memory)" ok
}

@test "a lock that somebody holds is not disturbed" {
  local before
  hold holder -k "$K" --ttl 60s
  before=$(redis pexpiretime "$K")
  doctor "$K"
  assert_equal "$status" 0
  assert_equal "$(redis pexpiretime "$K")" "$before"
  let_go holder
  assert_success
}

@test "a replica is not fit, and a master with replicas wants min-replicas-to-write" {
  local port master
  port=$(free_port)
  own_server --bind 127.0.0.1 --port "$port" --repl-diskless-sync-delay 0
  master=$SERVER
  own_server --replicaof "127.0.0.1 $port"
  wait_until replica_is_up
  doctor
  assert_equal "$status" 1
  assert_equal "$(finding replicas)" fail
  attempt doctor
  refute_output --partial blpop # it would not help
  refute_output --partial user_script
  use_server "$master"
  doctor
  assert_equal "$status" 0
  assert_equal "$(finding replicas)" warn
  redis config set min-replicas-to-write 1 >/dev/null
  doctor
  assert_equal "$(finding replicas)" ok
}

replica_is_up() {
  [[ $(redis info replication) == *master_link_status:up* ]]
}

@test "no password is shown" {
  own_server --requirepass geheim
  attempt doctor --json -S "unix://:geheim@$SERVER/redis.sock"
  assert_success
  refute_output --partial geheim
}

@test "a server that nobody chose is a finding" {
  unset RLOCK_SERVER
  attempt doctor
  assert_output --partial 'this is the default server'
  attempt doctor -S redis://127.0.0.1:6379
  refute_output --partial 'this is the default server'
}

@test "sentinels that cannot decide on a failover are a failure, one that is gone is not" {
  start_sentinels
  doctor
  assert_equal "$(finding 'sentinel 1')" ok
  assert_equal "$(finding 'sentinel 3')" ok
  kill_redis "${SENTINELS[1]}"
  doctor
  assert_equal "$(finding 'sentinel 2')" warn
  redis-cli -s "${SENTINELS[0]}/redis.sock" sentinel set main quorum 4 >/dev/null
  doctor
  assert_equal "$status" 1
  assert_equal "$(finding 'sentinel 1')" fail
  attempt doctor
  assert_line --regexp '^fail +sentinel 1 +127.0.0.1:[0-9]+: .*NOQUORUM'
}

@test "a forbidden CONFIG is unknown, not a lack of persistence" {
  own_server --save '900 1' --rename-command CONFIG ''
  doctor
  assert_equal "$status" 0
  assert_equal "$(finding persistence)" unknown
  attempt doctor
  assert_line --regexp '^unknown +persistence +no append-only file; whether it makes snapshots: not allowed to ask$'
  own_server --save '900 1'
  doctor
  assert_equal "$(finding persistence)" warn
  attempt doctor
  assert_line --regexp '^warn +persistence +snapshots only$'
}

@test "a command that the server does not know is as good as one that is not allowed: the page is named" {
  own_server --rename-command BLPOP '' --rename-command SCAN '' --rename-command LPUSH ''
  attempt doctor
  assert_equal "$status" 1
  assert_output --partial 'allow +blpop'
  assert_output --partial 'only `rlock list` needs +scan'
  assert_output --partial '--reason need +lpush'
  own_server --rename-command TIME ''
  attempt doctor
  assert_equal "$status" 1
  assert_line --regexp '^fail +locking '
  assert_output --partial 'rlock-protocol(7), MANAGED SERVERS'
  own_server --rename-command EVALSHA ''
  attempt doctor
  assert_equal "$status" 1
  assert_output --partial 'rlock-protocol(7), MANAGED SERVERS'
}

@test "a server that cannot save is said to have that trouble" {
  own_server
  start_proxy
  proxy say 'PING=-MISCONF Redis is configured to save RDB snapshots\r\n'
  attempt doctor
  assert_equal "$status" 1
  assert_line --regexp '^fail +reachable .*MISCONF'
  assert_output --partial 'cannot save its data and takes no writes'
  stop_proxy
}

@test "a server whose clock is an hour behind is warned of, and how to free a lock that stays" {
  own_server
  start_proxy
  proxy say "\$4\\r\\nTIME=*2\\r\\n\$10\\r\\n$(($(now_ms) / 1000 - 3600))\\r\\n\$1\\r\\n0\\r\\n"
  attempt doctor
  assert_success
  assert_line --regexp '^warn +clock +-36[0-9]{5} ms against this host$'
  assert_output --partial 'rlock force-release KEY'
  stop_proxy
}
