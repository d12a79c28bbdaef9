#!/usr/bin/env bats
# postgresql://: rows of a table, changed by compare-and-swap, and NOTIFY.
load ../../lib/rlock
load ../../lib/postgres

setup_file() {
  OWN_SERVERS=()
  start_postgres
  export FILE_SERVERS="${OWN_SERVERS[*]}" FILE_PG=$PG
}

teardown_file() {
  stop_redis "$FILE_SERVERS"
  rm -rf "$FILE_SERVERS"
}

use_server() { use_postgres "$FILE_PG"; }

# as_role NAME: RLOCK_SERVER is for that role.
as_role() { export RLOCK_SERVER="postgresql:///$PGDATABASE?host=$PG&user=$1"; }

# own_database: one of this test alone, without tables.
own_database() {
  local name=db$BATS_TEST_NUMBER
  sql "create database $name"
  export PGDATABASE=$name
  as_role postgres
}

@test "the first lock makes the tables, also where many are the first; one that looks makes none" {
  local number
  own_database
  attempt list
  assert_success
  attempt inspect -q "$K"
  assert_equal "$status" 1
  assert_equal "$(sql "select to_regnamespace('rlock') is null")" t
  for number in {1..8}; do
    start "w$number" -q -k "$K" -w 60s -- true
  done
  for number in {1..8}; do
    finish "w$number"
    assert_success
    assert_equal "$(<"$T/w$number.err")" ''
  done
  assert_equal "$(sql 'select version from rlock.layout')" 1
}

@test "a role that may not make the tables is told who makes them, and needs no more than the schema says" {
  own_database
  sql 'create role app1 login'
  as_role app1
  attempt -k "$K" -- true
  assert_equal "$status" 78
  assert_one_stderr_line 'rlock schema postgresql | psql'
  run "$RLOCK_BIN" schema postgresql
  sql "$output" >/dev/null
  attempt -k "$K" -- true
  assert_equal "$status" 77
  attempt doctor "$K"
  assert_equal "$status" 1
  assert_line --regexp '^ok +reachable'
  assert_line --regexp '^fail +locking .*42501'
  "$RLOCK_BIN" schema postgresql | sed -n 's/^-- *\(grant .*;\)$/\1/p' | sed 's/ app;/ app1;/' >"$T/grants"
  assert_equal "$(wc -l <"$T/grants")" 3
  sql "$(<"$T/grants")"
  hold holder -k "$K"
  start waiter -k "$K" -w 60s -- echo 'my turn'
  wait_until waits 1
  attempt doctor "$K"
  assert_success
  let_go holder
  finish waiter
  assert_output 'my turn'
}

@test "the schema may be run again, and says what it is to a DBA" {
  own_database
  attempt -k "$K" -- true
  "$RLOCK_BIN" schema postgresql >"$T/schema"
  sql "$(<"$T/schema")"
  sql "$(<"$T/schema")"
  attempt log -q "$K"
  assert_success
  attempt schema
  assert_equal "$status" 64
  attempt schema oracle
  assert_equal "$status" 64
  assert_one_stderr_line "no schema for 'oracle'" postgresql
}

@test "tables of a later version are not touched" {
  own_database
  attempt -k "$K" -- true
  sql 'update rlock.layout set version = 2'
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 78
  assert_one_stderr_line 'layout 2' 'later version'
  [[ ! -e $T/ran ]]
}

@test "a record that a later version wrote is not overwritten; its lines are kept" {
  attempt -k "$K" -- true
  local change="update rlock.lock set version = version + 1, record = record || convert_to(E'\nlater\tline', 'UTF8')"
  sql "$change where key = convert_to('$K', 'UTF8')"
  attempt -k "$K" -- true
  assert_success
  assert_equal "$(sql "select position(convert_to(E'\nlater\tline', 'UTF8') in record) > 0 from rlock.lock
    where key = convert_to('$K', 'UTF8')")" t
  sql "update rlock.lock set record = convert_to(E'rlock\t2', 'UTF8') where key = convert_to('$K', 'UTF8')"
  attempt -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
  attempt list "$K:*"
  assert_success
  attempt list "$K"
  assert_equal "$status" 69
  [[ $stderr == *"$K"*'not all'* || $stderr == *'not all'*"$K"* ]]
}

@test "a key, a label and a reason with all that SQL and NOTIFY mean something to" {
  local nasty="it's \"; drop table rlock.lock; -- \\ \$1 %s é \$\$"
  hold holder -k "$nasty" --label "$nasty" --reason "$nasty"
  start waiter -k "$nasty" -w 60s -- true
  wait_until waits 1 "$nasty"
  attempt cancel "$nasty" --reason "$nasty"
  finish holder
  assert_equal "$status" 76
  finish waiter
  assert_success
  attempt inspect -q "$nasty"
  assert_equal "$status" 1
}

@test "a server that is restarted, or crashes, keeps the locks; who waits goes on waiting" {
  local signal
  start_postgres
  for signal in INT QUIT; do
    hold holder -k "$K" --ttl 15s # longer than a server takes to come up on a busy machine
    start waiter -k "$K" -w 60s -- echo 'my turn'
    wait_until waits 1
    restart_postgres "$signal"
    attempt -k "$K" -q -- touch "$T/ran"
    assert_equal "$status" 75
    sleep 6 # past a refresh, on a new connection
    let_go holder
    assert_success
    finish waiter
    assert_success
    assert_output 'my turn'
  done
}

@test "a server that is silent costs no more than the patience with it" {
  start_postgres
  attempt -k "$K" -- true
  kill -STOP "$(<"$PG/pid")"
  local from=$SECONDS
  attempt -k "$K" --connect-timeout 500ms -- true
  assert_equal "$status" 69
  assert_less "$((SECONDS - from))" 3
}

@test "doctor counts the connections of all roles, for a role that may not look at them" {
  local number
  start_postgres max_connections=10 superuser_reserved_connections=0
  attempt -k "$K" -- true
  sql 'create role app login; grant all on schema rlock to app; grant all on all tables in schema rlock to app'
  for number in {1..7}; do
    launch "sleeper$number" psql -qAtX -c 'select pg_sleep(60)'
  done
  wait_until sleeps 7
  as_role app
  attempt doctor "$K"
  assert_success
  assert_line --regexp '^warn +connections +8 of 10'
  sql "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'" >/dev/null
  for number in {1..7}; do
    finish "sleeper$number"
  done
}

@test "a statement that takes too long is cancelled: no process of it is left behind" {
  local number what
  start_postgres
  attempt -k "$K" -- true
  for what in 'lock table rlock.lock' 'select from rlock.lock for update'; do
    launch locker psql -qAtX -c "begin; $what; select pg_sleep(60)"
    wait_until sleeps 1
    for number in 1 2; do
      attempt -k "$K" --connect-timeout 300ms -- true
      assert_equal "$status" 69
    done
    start waiter -k "$K" -w 60s --connect-timeout 300ms -- echo 'my turn'
    sleep 3 # some tries
    assert_less "$(sql "select count(*) from pg_stat_activity where application_name = 'rlock'")" 3
    sql "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'" >/dev/null
    finish locker
    finish waiter
    assert_success
    assert_output 'my turn'
  done
}
sleeps() { [[ $(sql "select count(*) from pg_stat_activity where wait_event = 'PgSleep'") == "$1" ]]; }

@test "connections that are all taken are waited for" {
  local number
  start_postgres max_connections=5 superuser_reserved_connections=0
  attempt -k "$K" -- true
  for number in {1..8}; do # some of them are too many
    launch "sleeper$number" psql -qAtX -c 'select pg_sleep(4)'
  done
  wait_until eval '! psql -qAtX -c "select 1" >/dev/null 2>&1'
  attempt -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line 53300
  start waiter -k "$K" -w 60s -- true
  finish waiter
  assert_success
  for number in {1..8}; do
    finish "sleeper$number"
  done
}

@test "a standby is never asked; the next server of the URL is" {
  local primary
  start_postgres_on_loopback
  primary=$PGPORT
  start_standby
  export RLOCK_SERVER="postgresql://postgres@127.0.0.1:$STANDBY_PORT/postgres"
  attempt -k "$K" -- true
  assert_equal "$status" 69
  export RLOCK_SERVER="postgresql://postgres@127.0.0.1:$STANDBY_PORT/postgres?target_session_attrs=any"
  attempt -k "$K" -- true
  assert_equal "$status" 69
  assert_one_stderr_line standby
  attempt check -k "$K" --token x
  assert_equal "$status" 69
  export RLOCK_SERVER="postgresql://postgres@127.0.0.1:$STANDBY_PORT,127.0.0.1:$primary/postgres"
  attempt -k "$K" -- echo ran
  assert_output ran
}

@test "after a failover a holder and a waiter find the new primary, and fences grow" {
  local port first
  start_postgres_on_loopback
  port=$PGPORT
  start_standby
  export RLOCK_SERVER="postgresql://postgres@127.0.0.1:$port,127.0.0.1:$STANDBY_PORT/postgres"
  # shellcheck disable=SC2016
  attempt -k "$K" -- sh -c 'echo $RLOCK_FENCE'
  first=$output
  hold holder -k "$K" --ttl 15s
  # shellcheck disable=SC2016
  start waiter -k "$K" -w 60s -- sh -c 'echo $RLOCK_FENCE'
  wait_until waits 1
  wait_until eval '[[ $(psql -qAtX -c "select replay_lsn >= pg_current_wal_lsn() from pg_stat_replication") == t ]]'
  signal_redis "$PG" QUIT
  promote
  sleep 6 # past a refresh
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_less "$first" "$output"
}

@test "a silent server of several costs a share of the time, not all of it" {
  local port dead
  start_postgres_on_loopback
  port=$PGPORT
  dead=$(free_port)
  launch deaf "$PYTHON" -c "import socket, time
s = socket.create_server(('127.0.0.1', $dead)); print('listening', flush=True); time.sleep(60)"
  wait_until says "$T/deaf.out" listening
  export RLOCK_SERVER="postgresql://postgres@127.0.0.1:$dead,127.0.0.1:$port/postgres"
  attempt -k "$K" --connect-timeout 2s -- echo ran
  assert_success
  assert_output ran
  # PGHOST and a service name them as well.
  RLOCK_SERVER='postgresql:///postgres?user=postgres' PGHOST=127.0.0.1,127.0.0.1 PGPORT=$dead,$port \
    attempt -k "$K" --connect-timeout 2s -- echo ran
  assert_output ran
  printf '[pair]\nhost=127.0.0.1,127.0.0.1\nport=%s,%s\nuser=postgres\n' "$dead" "$port" >"$T/services"
  unset PGHOST PGPORT
  PGSERVICEFILE=$T/services attempt -S 'postgresql:///postgres?service=pair' -k "$K" --connect-timeout 2s -- echo ran
  assert_output ran
  signal TERM deaf
  finish deaf
}

@test "an option that libpq does not accept is the URL's fault, not the server's" {
  local option
  for option in sslmode=maybe service=nosuch target_session_attrs=any-server; do
    attempt -S "postgresql:///postgres?host=$PG&user=postgres&$option" -k "$K" -w 60s -- touch "$T/ran"
    assert_equal "$status" 78
    assert_one_stderr_line "${option#*=}"
  done
  attempt -S "postgresql:///postgres?host=$T&user=postgres" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
}

@test "a grant waits for the standbys that the server waits for; a place in the queue and a release do not" {
  start_postgres
  hold holder -k "$K" --ttl 60s
  wait_for_standbys nobody
  start waiter -k "$K" -w 60s --connect-timeout 20s -- echo 'my turn'
  wait_until waits 1
  let_go holder
  assert_success
  wait_until waits_for_a_standby
  assert_equal "$(<"$T/waiter.out")" ''
  wait_for_standbys ''
  finish waiter
  assert_success
  assert_output 'my turn'
}

# wait_for_standbys NAMES: synchronous_standby_names, once it counts.
wait_for_standbys() {
  sql "alter system set synchronous_standby_names = '$1'"
  sql 'select pg_reload_conf()' >/dev/null
  wait_until has_standby_names "$1"
}
has_standby_names() { [[ $(sql 'show synchronous_standby_names') == "$1" ]]; }
waits_for_a_standby() { [[ $(sql "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 1 ]]; }
