#!/usr/bin/env bats
# postgresql://: passwords, TLS, poolers, and servers that mean no good.
load ../../lib/rlock
load ../../lib/postgres
load ../../lib/tls
load ../../lib/contract_stories

setup_file() {
  OWN_SERVERS=()
  T=$BATS_FILE_TMPDIR
  make_ca ca
  make_ca other-ca
  make_certificate server ca 2 'DNS:lock.test,IP:127.0.0.1'
  PGPORT=$(free_port)
  export PGPORT
  local key
  key=$(mktemp /tmp/rlock-test.XXXXXX)
  cp "$T/server.key" "$key"
  chmod 600 "$key"
  ((EUID != 0)) || chown postgres: "$key"
  chmod 755 "$T"
  cp "$T/server.crt" "$key.crt"
  chmod 644 "$key.crt"
  start_postgres listen_addresses=127.0.0.1 "port=$PGPORT" ssl=on "ssl_cert_file=$key.crt" "ssl_key_file=$key"
  sql "create role app login password 'pg-secret'; grant create on database postgres to app"
  printf '%s\n' 'local all all trust' 'host all all 127.0.0.1/32 scram-sha-256' >"$PG/data/pg_hba.conf"
  sql 'select pg_reload_conf()' >/dev/null
  export FILE_SERVERS="${OWN_SERVERS[*]}" FILE_PG=$PG FILE_PORT=$PGPORT FILE_KEY=$key
}

teardown_file() {
  stop_redis "$FILE_SERVERS"
  rm -rf "$FILE_SERVERS" "$FILE_KEY" "$FILE_KEY.crt"
}

use_server() {
  use_postgres "$FILE_PG"
  export PGPORT=$FILE_PORT
  export RLOCK_SERVER="postgresql://app@127.0.0.1:$FILE_PORT/postgres"
}

@test "a password of the URL, of a file, of PGPASSWORD, of .pgpass" {
  attempt -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line password
  attempt -S "postgresql://app:pg-secret@127.0.0.1:$FILE_PORT/postgres" -k "$K" -- echo ran
  assert_output ran
  attempt -S "postgresql://127.0.0.1:$FILE_PORT/postgres?user=app&password=pg-secret" -k "$K" -- echo ran
  assert_output ran
  (umask 077 && echo pg-secret >"$T/password")
  attempt --password-file "$T/password" -k "$K" -- echo ran
  assert_output ran
  PGPASSWORD=pg-secret attempt -k "$K" -- echo ran
  assert_output ran
  (umask 077 && echo "127.0.0.1:$FILE_PORT:*:app:pg-secret" >"$T/pgpass")
  PGPASSFILE=$T/pgpass attempt -k "$K" -- echo ran
  assert_output ran
  # libpq warns of one that others can read, once for each connection.
  chmod 644 "$T/pgpass"
  PGPASSFILE=$T/pgpass attempt -S "postgresql:///postgres?host=$PG&user=postgres" -k "$K" -- true
  assert_success
  assert_equal "$(grep -c 'group or world access' <<<"$stderr")" 1
  PGPASSWORD=wrong attempt -k "$K" -- true
  assert_equal "$status" 77
  assert_one_stderr_line 28P01
  # That of a configuration file is not for the server of a variable, which may need none.
  printf 'password-file = %s\n' "$T/password" >"$T/conf"
  PGPASSWORD=pg-secret RLOCK_CONFIG=$T/conf attempt -k "$K" -- echo ran
  assert_output ran
  attempt --config "$T/conf" -S "$RLOCK_SERVER" -k "$K" -- "$RLOCK_BIN" -k "$K:other" -- echo ran
  assert_output ran
  # That one is for Redis.
  REDISCLI_AUTH=pg-secret attempt -k "$K" -- true
  assert_equal "$status" 77
}

@test "a password of a URL is shown nowhere" {
  local url="postgresql://app:pg-secret@127.0.0.1:$FILE_PORT/postgres?sslpassword=tls-secret"
  start holder -vv -S "$url" -k "$K" -- "$LIB/until-file" "$T/go"
  wait_until says "$T/holder.out" started
  run tr '\0' ' ' <"/proc/${PIDS[holder]}/cmdline"
  refute_output --partial secret
  touch "$T/go"
  finish holder
  assert_success
  run cat "$T/holder.err"
  refute_output --partial secret
  attempt -S "${url/pg-secret/pg-secrex}" -k "$K" -- true
  assert_equal "$status" 77
  [[ $stderr != *secre* ]]
  attempt -S 'postgresql://app:pg-secret@127.0.0.1:x/postgres' -k "$K" -- true
  [[ $stderr != *secre* ]]
  attempt -S 'postgresql://h/db?nosuch=pg-secret' -k "$K" -- true
  assert_equal "$status" 78
  [[ $stderr != *secre* ]]
}

@test "TLS: the certificate's chain and name are verified where the URL says so" {
  local url="postgresql://app:pg-secret@127.0.0.1:$FILE_PORT/postgres"
  attempt -vv -S "$url?sslmode=verify-full&sslrootcert=$BATS_FILE_TMPDIR/ca.crt" -k "$K" -- echo ran
  assert_output ran
  [[ $stderr == *'over TLS'* ]]
  attempt -S "$url?sslmode=verify-full&sslrootcert=$BATS_FILE_TMPDIR/other-ca.crt" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line certificate
  attempt -S "postgresql://app:pg-secret@localhost:$FILE_PORT/postgres?sslmode=verify-full&sslrootcert=$BATS_FILE_TMPDIR/ca.crt" \
    -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
  [[ ! -e $T/ran ]]
  attempt -S "$url?sslmode=verify-full&sslrootcert=$BATS_FILE_TMPDIR/ca.crt" doctor "$K"
  assert_success
  assert_line --regexp '^ok +encryption'
  attempt -S "$url?sslmode=require" doctor "$K"
  assert_success
  assert_line --regexp '^warn +encryption .*sslmode=require'
  attempt -S "$url?sslmode=disable" doctor "$K"
  assert_success
  assert_line --regexp '^warn +encryption'
}

@test "behind a pooler in transaction mode who waits looks again; cancel and force-release reach all" {
  start_pgbouncer
  attempt doctor "$K"
  assert_success
  assert_line --regexp '^warn +pooler'
  hold holder -v -k "$K" --ttl 10s
  start waiter -v -k "$K" -w 60s -- echo 'my turn'
  wait_until says "$T/waiter.err" 'pooler'
  let_go holder
  finish waiter
  assert_success
  assert_output 'my turn'
  hold holder -k "$K" --ttl 60s
  sleep 1.2 # it listens
  attempt cancel "$K" --wait 20s
  assert_success
  finish holder
  assert_equal "$status" 76
  hold holder -k "$K" --ttl 60s
  sleep 1.2
  attempt force-release "$K" --yes
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "a dozen through a pooler of three connections, and never two of them" {
  start_pgbouncer 'default_pool_size = 3'
  never_two_of_a_dozen
}

@test "an answer that is lost is asked for again: one run, no lock left behind" {
  local what
  export PGSSLMODE=disable
  start_proxy_between "tcp:$((port = $(free_port)))" "tcp:$FILE_PORT"
  export RLOCK_SERVER="postgresql://app:pg-secret@127.0.0.1:$port/postgres"
  for what in 'insert into' 'update rlock' 'from (select 1)'; do
    attempt -k "$K" -- true
    proxy drop-reply "$what"
    attempt -k "$K" -w 20s --ttl 20s -- sh -c 'echo ran >>"$T/ran"'
    assert_success
    assert_equal "$(<"$T/ran")" ran
    rm "$T/ran"
    attempt inspect -q "$K"
    assert_equal "$status" 1
  done
  stop_proxy
}

# hostile SCRIPT: a server that lets everybody in and then answers each question with what SCRIPT makes of it.
hostile() {
  local port
  port=$(free_port)
  launch hostile "$PYTHON" "$LIB/hostile_postgres.py" "$port" "$1"
  wait_until says "$T/hostile.out" listening
  export RLOCK_SERVER="postgresql://app@127.0.0.1:$port/postgres?sslmode=disable"
}

@test "a hostile server causes an error, nothing worse" {
  local kind
  for kind in nothing endless huge copy garbage null wrong-columns no-rows notices error-with-escapes closes; do
    hostile "$kind"
    attempt --connect-timeout 1s -k "$K" -- touch "$T/ran"
    assert_equal "$status" 69
    [[ ! -e $T/ran && $stderr != *$'\e'* ]] || fail "$kind: $stderr"
    attempt --connect-timeout 1s list
    [[ $status == 69 || $status == 0 ]] || fail "$kind: list exits $status"
    signal KILL hostile
    finish hostile
  done
}

@test "a server that never ends to let rlock in costs neither time nor memory" {
  local kind
  for kind in early-notices early-parameters early-notifications early-rows early-error; do
    hostile "$kind"
    launch run "$PYTHON" -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)' "$RLOCK_BIN" --connect-timeout 1s -k "$K" -- touch "$T/ran"
    finish run
    assert_equal "$status" 69
    [[ ! -e $T/ran ]]
    assert_less "$output" 400000 # KiB, with a sanitizer
    signal KILL hostile
    finish hostile
  done
}

# shadow_everything SCHEMA: another user's functions and operators there, in place of the server's, for all types that fit. Each
# fails.
shadow_everything() {
  sql "create schema $1; grant usage on schema $1 to public; set search_path = $1;
    do \$\$ declare
      types text[] := '{int,bigint,numeric,float,text,bytea,timestamptz,interval}';
      one text; other text; name text; each record;
    begin
      create function stolen() returns bool language plpgsql as 'begin raise exception ''stolen''; end';
      foreach one in array types loop
        foreach other in array types loop
          execute format('create function two(%s, %s) returns bool return stolen()', one, other);
          foreach name in array string_to_array('= < <= > >= * / + - ||', ' ') loop
            execute format('create operator %s (leftarg = %s, rightarg = %s, function = two)', name, one, other);
          end loop;
        end loop;
      end loop;
      for each in select distinct proname, replace(pg_get_function_identity_arguments(oid), 'anyarray', 'text[]') as arguments
          from pg_proc where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f' and not proretset
            and proname ~ '^(clock_timestamp|to_timestamp|abs|pg_is_in_recovery|pg_backend_pid|pg_notify|split_part|substr|strpos)\$'
          union select proname, pg_get_function_identity_arguments(oid) from pg_proc
          where proname in ('set_config', 'current_setting', 'string_to_array', 'to_regclass')
          union values ('unnest', 'text[]'), ('count', ''), ('max', 'int'), ('to_timestamp', 'numeric') loop
        execute format('create function %I(%s) returns bool return stolen()', each.proname, each.arguments);
      end loop;
    end \$\$" >/dev/null
}

@test "another user's functions on the search path never run with rlock's rights" {
  start_postgres
  sql 'create database app'
  export PGDATABASE=app RLOCK_SERVER="postgresql:///app?host=$PG&user=postgres"
  shadow_everything theirs
  sql 'alter database app set search_path = theirs, pg_catalog'
  run sql 'select 1 = 1'
  assert_output --partial stolen
  hold holder -k "$K"
  start waiter -k "$K" -w 60s --slot x -- echo 'my turn'
  wait_until waits 1
  attempt list
  assert_success
  attempt doctor "$K:other"
  assert_success
  let_go holder
  assert_success
  finish waiter
  assert_output 'my turn'
}
