# shellcheck shell=bash
# PostgreSQL servers of the distribution, each in a directory of its own: a Unix socket there, and a port on loopback only
# where one is asked for. PostgreSQL does not run as root: root gives it to the user postgres, which its package makes.

# start_postgres [SERVER-OPTION...]: PG is its directory; RLOCK_SERVER names it.
start_postgres() {
  local dir
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  printf '%s' "${@/%/$'\n'}" >"$dir/own"
  (as_postgres "$dir" initdb -D "$dir/data" -A trust -U postgres --no-sync --no-instructions) >"$dir/initdb" 2>&1 ||
    fail "initdb: $(<"$dir/initdb")"
  use_postgres "$dir"
  OWN_SERVERS+=("$dir")
  launch_postgres "$dir"
}

# start_postgres_on_loopback [SERVER-OPTION...]: at the port PGPORT of 127.0.0.1 as well.
start_postgres_on_loopback() {
  PGPORT=$(free_port)
  export PGPORT
  start_postgres listen_addresses=127.0.0.1 "port=$PGPORT" "$@"
}

# use_postgres DIR: the server there is the one that PG, psql and RLOCK_SERVER name.
use_postgres() {
  PG=$1
  export PG PGHOST=$1 PGUSER=postgres PGDATABASE=postgres
  export RLOCK_SERVER="postgresql:///postgres?host=$1&user=postgres"
}

# launch_postgres DIR: also again, with the same data.
launch_postgres() {
  local dir=$1
  local -a own
  mapfile -t own <"$dir/own"
  rm -f "$dir/data/postmaster.pid"
  as_postgres "$dir" postgres -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=50 \
    -c shared_buffers=8MB -c max_wal_size=64MB -c min_wal_size=32MB "${own[@]/#/-c}" </dev/null >"$dir/log" 2>&1 3>&- &
  echo "$!" >"$dir/pid"
  wait_until postgres_answers "$dir" || fail "$(<"$dir/log")"
}

# start_standby: a copy of the server that PG names, which follows it; STANDBY is its directory. PG has a port on loopback.
start_standby() {
  STANDBY=$(mktemp -d /tmp/rlock-test.XXXXXX)
  STANDBY_PORT=$(free_port)
  printf '%s\n' "listen_addresses=127.0.0.1" "port=$STANDBY_PORT" >"$STANDBY/own"
  (as_postgres "$STANDBY" pg_basebackup -h "$PG" -p "${PGPORT:-5432}" -U postgres -D "$STANDBY/data" -R -c fast --no-sync) \
    >"$STANDBY/backup" 2>&1 || fail "pg_basebackup: $(<"$STANDBY/backup")"
  OWN_SERVERS+=("$STANDBY")
  PGPORT=$STANDBY_PORT launch_postgres "$STANDBY"
}

# promote: the standby takes over.
promote() {
  (as_postgres "$STANDBY" pg_ctl promote -s -D "$STANDBY/data")
}

# as_postgres DIR PROGRAM [ARG...]: a program of the server, which owns DIR, in place of this (sub)shell.
as_postgres() {
  local dir=$1 program=$2
  local -a user=()
  shift 2
  [[ $program == /* ]] || program=$(postgres_program "$program")
  if ((EUID == 0)); then
    chown postgres: "$dir"
    user=(setpriv --reuid postgres --regid postgres --clear-groups) # which forgets a parent's death signal
  fi
  cd "$dir" && exec "${user[@]}" setpriv --pdeathsig KILL "$program" "$@"
}

# postgres_program NAME: where the distribution's newest server has it, which is not in PATH.
postgres_program() {
  local -a found
  mapfile -t found < <(printf '%s\n' /usr/lib/postgresql/*/bin/"$1" | sort -V)
  echo "${found[-1]}"
}

postgres_answers() { psql -qAtX -h "$1" -c 'select 1' >/dev/null 2>&1; }

# sql STATEMENT [PSQL-OPTION...]
sql() {
  local statement=$1
  shift
  psql -qAtX -v ON_ERROR_STOP=1 "$@" -c "$statement"
}

# restart_postgres [SIGNAL]: INT ends it in order, QUIT as a crash does.
restart_postgres() {
  signal_redis "$PG" "${1:-INT}"
  launch_postgres "$PG"
}

# start_pgbouncer [LINE...]: a pooler in transaction mode before the server; RLOCK_SERVER is the way through it.
start_pgbouncer() {
  local dir port
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  port=$(free_port)
  echo '"postgres" ""' >"$dir/users"
  printf '%s\n' '[databases]' "postgres = host=$PG port=${PGPORT:-5432}" '[pgbouncer]' "listen_port = $port" "unix_socket_dir = $dir" \
    'auth_type = trust' "auth_file = $dir/users" 'pool_mode = transaction' "$@" >"$dir/conf"
  as_postgres "$dir" /usr/sbin/pgbouncer -q "$dir/conf" </dev/null >"$dir/log" 2>&1 3>&- &
  echo "$!" >"$dir/pid"
  OWN_SERVERS+=("$dir")
  BOUNCER=$dir
  export RLOCK_SERVER="postgresql:///postgres?host=$dir&port=$port&user=postgres"
  wait_until bouncer_answers "$dir" "$port"
}

bouncer_answers() { psql -qAtX -h "$1" -p "$2" -c 'select 1' >/dev/null 2>&1; }

# waits NUMBER [KEY]
waits() { [[ $(json 'len(d["waiters"])' inspect --json "${2:-$K}") == "$1" ]]; }
