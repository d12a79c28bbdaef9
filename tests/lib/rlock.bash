# shellcheck shell=bash
# What every test file loads. It gives
#   a private server per file ($SERVER, RLOCK_SERVER), a key ($K) and a directory ($T) per test,
#   rlock in the background (start, finish), facts to wait for (wait_until ...),
#   and a teardown that ends what the test started, by pid, and fails if something was left over.
# Files run at the same time, and so may tests of one file: a test that hurts its server takes one of its own.

bats_require_minimum_version 1.5.0
for part in /usr/lib/bats/bats-{support,assert}/src/*.bash; do # their own load files start 18 programs for a test
  # shellcheck disable=SC1090
  source "$part"
done
unset part

REPO=${BATS_TEST_DIRNAME%/tests*}
LIB=$REPO/tests/lib
RLOCK_BIN=$(realpath -m "${RLOCK_BIN:-$REPO/build/release/rlock}")
PYTHON=/usr/bin/python3
[[ -x $PYTHON ]] || PYTHON=python3
export LIB REPO RLOCK_BIN PYTHON

# shellcheck source=tests/lib/server.bash
source "$LIB/server.bash"
# shellcheck source=tests/lib/facts.bash
source "$LIB/facts.bash"
# shellcheck source=tests/lib/background.bash
source "$LIB/background.bash"
# shellcheck source=tests/lib/tools.bash
source "$LIB/tools.bash"

setup_file() {
  local - && set +T
  READABLE_PATH=$(readable_path)
  export READABLE_PATH
  FILE_SERVER=$(mktemp -d /tmp/rlock-test.XXXXXX)   # short: a Unix socket's path ends at 108 bytes
  export FILE_SERVER
  start_redis "$FILE_SERVER"
}

teardown_file() {
  stop_redis "$FILE_SERVER"
  rm -rf "$FILE_SERVER"
}

setup() {
  local - && set +T # Bats notes each command of a traced function; those of the tests are enough
  clean_environment
  T=$BATS_TEST_TMPDIR
  K=${BATS_TEST_FILENAME##*/}:$BATS_TEST_NUMBER
  mkdir -p "$HOME"
  declare -gA PIDS=()
  OWN_SERVERS=()
  use_server "$FILE_SERVER"
  export T K
}

teardown() {
  local - && set +T
  local pid dir left=''
  PATIENCE=2 wait_until nothing_runs >/dev/null || left=$(marked_processes) # what was just killed takes a moment
  for pid in $left; do
    kill -KILL "$pid" 2>/dev/null || true
  done
  for pid in $left; do
    wait_until gone "$pid"
  done
  for dir in "${OWN_SERVERS[@]}"; do
    stop_redis "$dir"
    rm -rf "$dir"
  done
  if [[ -n $left && -n ${BATS_TEST_COMPLETED:-} ]]; then
    echo "left running: $left"
    return 1
  fi
}

# No variable of the person who runs the tests reaches rlock; everything started carries TEST_MARK.
clean_environment() {
  local name
  for name in "${!RLOCK_@}" "${!XDG_@}" "${!REDISCLI_@}"; do
    [[ $name == RLOCK_BIN ]] || unset "$name"
  done
  unset GITLAB_CI GITHUB_ACTIONS BUILDKITE JENKINS_URL JOURNAL_STREAM
  PATH=${READABLE_PATH:-$(readable_path)}
  export HOME=$BATS_TEST_TMPDIR/home
  export TEST_MARK=$BATS_TEST_TMPDIR
  export TERM=dumb LC_ALL=C.UTF-8
  umask 022 # a config file that a group may write to is refused
}

# A directory in PATH that may not be entered would make "permission denied" of "not found".
readable_path() {
  local directory kept=''
  local -a directories
  IFS=: read -ra directories <<<"$PATH"
  for directory in "${directories[@]}"; do
    if [[ -x $directory ]]; then
      kept+=:$directory
    fi
  done
  echo "${kept#:}"
}

# Pids of what this test started and is still there; servers of its own are not counted.
marked_processes() {
  local file pid dir servers=' '
  for dir in "${OWN_SERVERS[@]}"; do
    servers+="$(<"$dir/pid") "
  done
  while read -r file; do
    pid=${file#/proc/}
    pid=${pid%/environ}
    if [[ $servers != *" $pid "* ]] && process_alive "$pid"; then
      echo "$pid"
    fi
  done < <(grep -lazsxF "TEST_MARK=$TEST_MARK" /proc/[0-9]*/environ || true)
}

nothing_runs() {
  [[ -z $(marked_processes) ]]
}

# For a test whose point is that something stays: end it, so that teardown finds nothing.
end_leftovers() {
  local pid
  for pid in $(marked_processes); do
    kill -KILL "$pid" 2>/dev/null || true
    wait_until gone "$pid"
  done
}

use_server() {
  SERVER=$1
  export SERVER RLOCK_SERVER=unix://$SERVER/redis.sock
}

# own_server [REDIS-SERVER OPTION...]: a server for this test alone, free to be paused, flushed and killed.
own_server() {
  local dir
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  chmod 755 "$dir"
  start_redis "$dir" "$@"
  OWN_SERVERS+=("$dir")
  use_server "$dir"
}

redis() {
  redis-cli -s "$SERVER/redis.sock" "$@"
}

rlock() {
  env --default-signal "$RLOCK_BIN" "$@" 3>&-
}

# attempt ARG...: rlock with stdout and stderr apart; no `run`, which warns of every exit code 127, and no function
# whose stderr were Bash's own meanwhile: it says there that a server was killed, when it hears of that.
attempt() {
  local - && set +T
  status=0
  env --default-signal "$RLOCK_BIN" "$@" >"$T/attempt.out" 2>"$T/attempt.err" 3>&- || status=$?
  { output=$(<"$T/attempt.out") stderr=$(<"$T/attempt.err"); } 2>/dev/null # Bash drops zero bytes, and says so
  mapfile -t lines <<<"$output"
}
