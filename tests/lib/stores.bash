# shellcheck shell=bash
# One store of the kind that $STORE names, for the files that scripts/test runs once for each kind. Their tests see nothing
# but rlock. tests/lib/stores/$STORE.bash says what differs between the kinds. library-$STORE: the same with runs of librlock
# in place of the program's (tests/library/run.cpp), as far as they are the library's.
#   start_store       starts servers for the whole file and exports RLOCK_SERVER
#   COLUMN            the kind's column in the table of rlock-servers(7), "What each server can do"
#   keep_slot, put_back_slot, lose_slot    where its records are not those of Redis servers; can, where it differs

setup_file() {
  T=$BATS_FILE_TMPDIR
  OWN_SERVERS=()
  declare -gA PIDS=()
  start_store
  if is_library; then export RLOCK_BIN=${RLOCK_BIN%/*}/library-run; fi
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

# is_library: runs are librlock's.
is_library() { [[ $RUNS_BY == library ]]; }

# can FEATURE: whether that table says "yes" for this kind of store.
can() { in_table "$1"; }

in_table() {
  local feature=$1
  sed -n '/^\.Ss What each server can do/,/^\.El/s/^\.It //p' "$REPO/man/rlock-servers.7" |
    sed 's/^Fl -/--/; s/^Ic //; s/ , refresh , release//' | grep -E "^$feature Ta " \
    >"$BATS_TEST_TMPDIR/row" || fail "no row '$feature' in man/rlock-servers.7"
  [[ $(awk -F ' Ta ' -v n="$COLUMN" '{ print $n }' "$BATS_TEST_TMPDIR/row") == yes ]]
}

# refused ARG...: a usage error that names the option; nothing ran.
refused() {
  attempt -k "$K" "$@" -- touch "$T/ran"
  assert_equal "$status" 64
  local option=${1%%=*}
  # A library's run leaves the options of the program alone to the program.
  if is_library && [[ $stderr != *'does not work with'* ]]; then
    option=${option#--}
    [[ $option != one-of ]] || option=permits # which have the names
    assert_one_stderr_line "kind of server has no ${option//-/_}"
  else
    assert_one_stderr_line "$option"
    [[ $STORE == gate || $stderr == *'does not work with'* ]]
  fi
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

# keep_slot ID: keeps what each server remembers of that slot of K now.
keep_slot() {
  local dir
  for dir in $CONTRACT_SERVERS; do
    redis-cli -s "$dir/redis.sock" get "$(companion "$K" "slot:$1")" >"$T/slot-${dir##*/}" && [[ -s $T/slot-${dir##*/} ]] || return
  done
}

# put_back_slot ID: gives each server back what keep_slot kept.
put_back_slot() {
  local dir
  for dir in $CONTRACT_SERVERS; do
    [[ $(redis-cli -s "$dir/redis.sock" set "$(companion "$K" "slot:$1")" "$(<"$T/slot-${dir##*/}")" PX 600000) == OK ]] || return
  done
}

# lose_slot ID: makes each server forget that slot.
lose_slot() {
  local dir
  for dir in $CONTRACT_SERVERS; do
    [[ $(redis-cli -s "$dir/redis.sock" del "$(companion "$K" "slot:$1")") == 1 ]] || return
  done
}

# stand_in_line NAME KEY [OPTION...] -- COMMAND: a waiter that has been told that it waits.
stand_in_line() {
  local name=$1 key=$2
  shift 2
  start "$name" -k "$key" -w 60s "$@"
  wait_until says "$T/$name.err" 'waiting for'
}

# Bats reads this again for each test, and by then STORE has no prefix.
: "${STORE:?names no kind of store: STORE=redis bats FILE, or scripts/test FILE@redis}"
export RUNS_BY=${RUNS_BY:-${STORE%%-*}}
STORE=${STORE#library-}
# shellcheck source=tests/lib/stores/redis.bash
source "$LIB/stores/$STORE.bash"
