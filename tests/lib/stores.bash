# shellcheck shell=bash
# One of each kind of store, for the contract suite: the file's name, contract_STORE or way_STORE, says which. Its tests see nothing but rlock.

# shellcheck source=tests/lib/sentinel.bash
source "$LIB/sentinel.bash"
# shellcheck source=tests/lib/cluster.bash
source "$LIB/cluster.bash"
# shellcheck source=tests/lib/quorum.bash
source "$LIB/quorum.bash"
# shellcheck source=tests/lib/zookeeper.bash
source "$LIB/zookeeper.bash"
# shellcheck source=tests/lib/tls.bash
source "$LIB/tls.bash"

STORE=${BATS_TEST_FILENAME##*/}
STORE=${STORE#*_}
STORE=${STORE%.bats}

setup_file() {
  T=$BATS_FILE_TMPDIR
  OWN_SERVERS=()
  declare -gA PIDS=()
  "start_$STORE"
  export CONTRACT_GATE=${RLOCK_LOCAL_GATE:-} CONTRACT_URL=$RLOCK_SERVER CONTRACT_SERVERS="${OWN_SERVERS[*]}"
}

teardown_file() {
  local dir
  for dir in $CONTRACT_SERVERS; do
    stop_redis "$dir"
    rm -rf "$dir"
  done
}

use_server() {
  SERVER=$1
  export SERVER RLOCK_SERVER=${CONTRACT_URL:-unix://$SERVER/redis.sock}
  if [[ -n ${CONTRACT_GATE:-} ]]; then
    export RLOCK_LOCAL_GATE=$CONTRACT_GATE
  fi
}

start_redis_itself() { own_server; }
start_gate() {
  own_server
  export RLOCK_LOCAL_GATE=yes
}
start_tls() { tls_server --loglevel warning; }
start_local() { export RLOCK_SERVER=file://$BATS_FILE_TMPDIR/locks; }
# start_sentinels, start_cluster, start_quorum and start_zookeeper are those of their libraries.

# can FEATURE: what the table "What not every kind of server can do" of rlock(1) says of this kind of store. Anything but
# "yes" is "no".
can() {
  local feature=$1 column
  case $STORE:$feature in
    gate:--max-waiters | gate:--supersede) return 1 ;; # the server does not see who waits behind it
    gate:first*) return 1 ;;                           # and could not tell their number
  esac
  case $STORE in
    redis_itself | tls | sentinels | cluster | gate) column=2 ;;
    quorum) column=3 ;;
    zookeeper) column=4 ;;
    local) column=5 ;;
    *) return 2 ;;
  esac
  sed -n '/^What not every kind of server/,/^\.El/s/^\.It //p' "$REPO/man/rlock.1" |
    sed 's/^Fl -/--/; s/^Ic //; s/ , refresh , release//' | grep -E "^$feature Ta " \
    >"$BATS_TEST_TMPDIR/row" || fail "no row '$feature' in man/rlock.1"
  [[ $(awk -F ' Ta ' -v n="$column" '{ print $n }' "$BATS_TEST_TMPDIR/row") == yes ]]
}

# refused ARG...: a usage error that names the option; nothing ran.
refused() {
  attempt -k "$K" "$@" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "${1%%=*}"
  [[ $STORE == gate || $stderr == *'SERVER URLS'* ]]
  [[ ! -e $T/ran ]]
}

# seen KEY EXPRESSION: what rlock itself says of the lock; d is the document.
seen() {
  local key=$1 expression=$2
  json "$expression" inspect --json "$key"
}

# The facts of facts.bash, asked of rlock.
held() { rlock inspect -q "$1" 2>/dev/null; }
free() {
  local status=0
  rlock inspect -q "$1" 2>/dev/null || status=$?
  ((status == 1))
}

# keep_slot ID: what the servers remember of that slot of K now.
keep_slot() { each_slot_record "$1" keep; }
# put_back_slot ID: they remember again what was kept.
put_back_slot() { each_slot_record "$1" put_back; }
# lose_slot ID: they remember nothing of it.
lose_slot() { each_slot_record "$1" lose; }

# each_slot_record ID ACT: in the directory of a local store, or on each server.
each_slot_record() {
  local id=$1 act=$2 dir number=0
  if [[ $STORE == local ]]; then
    "${act}_in_file" "${RLOCK_SERVER#file://}/$K/slots" "$T/slot-0"
    return
  fi
  for dir in $CONTRACT_SERVERS; do
    if [[ $STORE == zookeeper ]]; then
      "${act}_in_node" "$(sed -n 's/^clientPort=//p' "$dir/conf")" "/rlock/$K/slots/$id" "$T/slot-$number"
    else
      "${act}_in_redis" "$dir/redis.sock" "$(companion "$K" "slot:$id")" "$T/slot-$number"
    fi
    number=$((number + 1))
  done
}
keep_in_file() { cp "$1" "$2"; }
put_back_in_file() { cp "$2" "$1"; }
lose_in_file() { rm "$1"; }
keep_in_redis() { redis-cli -s "$1" get "$2" >"$3" && [[ -s $3 ]]; }
put_back_in_redis() { [[ $(redis-cli -s "$1" set "$2" "$(<"$3")" PX 600000) == OK ]]; }
lose_in_redis() { [[ $(redis-cli -s "$1" del "$2") == 1 ]]; }
keep_in_node() { zookeeper_cli "$1" get "$2" | grep -P '^(running|open|done)\t' >"$3"; }
put_back_in_node() { ! zookeeper_cli "$1" set "$2" "$(<"$3")" | grep -i exception; }
# Its last slot, whose container the servers delete.
lose_in_node() {
  ! zookeeper_cli "$1" delete "$2" | grep -i exception
  wait_until no_such_node "$1" "${2%/*}"
}
no_such_node() { zookeeper_cli "$1" stat "$2" | grep -qi "no\(de does not exist\|node\)"; }

# stand_in_line NAME KEY [OPTION...] -- COMMAND: a waiter that has been told that it waits.
stand_in_line() {
  local name=$1 key=$2
  shift 2
  start "$name" -k "$key" -w 60s "$@"
  wait_until says "$T/$name.err" 'waiting for'
}
