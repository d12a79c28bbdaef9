# shellcheck shell=bash
# Other clients that keep locks on the same server, as processes that do what they are asked to:
# meet, ask, tell, heard, part. lib/company/ has one program for each client; driver.py says what
# they understand.

# meet NAME CLIENT LOCK [SOCKET...]: LOCK is what the client calls the lock.
meet() {
  local name=$1 client=$2 lock=$3 input
  shift 3
  local -a program=("$PYTHON" "$LIB/company/$client.py") sockets=("${@:-$SERVER/redis.sock}")
  if [[ $client == redlock ]]; then
    [[ -d $REPO/build/node/node_modules ]] || fail 'scripts/install-node-modules has not been run'
    program=(env NODE_PATH="$REPO/build/node/node_modules" node "$LIB/company/redlock.js")
  fi
  mkfifo "$T/$name.in"
  # shellcheck disable=SC2016
  PYTHONDONTWRITEBYTECODE=1 launch "$name" sh -c 'in=$1; shift; exec "$@" <"$in"' sh "$T/$name.in" \
    "${program[@]}" "$lock" "${sockets[@]}"
  # Open for as long as the test runs: its input does not end between two questions.
  exec {input}<>"$T/$name.in"
}

# tell NAME COMMAND [ARG...]: without waiting for the answer, which `heard NAME` does.
declare -gA TOLD=()
tell() {
  local name=$1
  shift
  TOLD[$name]=$((${TOLD[$name]:-0} + 1))
  echo "$*" >"$T/$name.in"
}

# heard NAME: waits for the answer to all it was told; sets answer to the last one.
heard() {
  local name=$1
  wait_until line_count_is "$T/$name.out" "${TOLD[$name]}"
  answer=$(tail -n 1 "$T/$name.out")
  [[ $answer != error* ]] || cat "$T/$name.err" >&2
}

ask() {
  local name=$1
  tell "$@"
  heard "$name"
}

# unheard NAME: it has not answered yet.
unheard() {
  local name=$1
  line_count_is "$T/$name.out" $((TOLD[$name] - 1))
}

assert_answer() {
  local expected=$1
  # shellcheck disable=SC2154
  [[ $answer == "$expected" || $answer == "$expected "* ]] || fail "the answer is '$answer', not '$expected'"
}

part() {
  local name
  for name in "$@"; do
    echo end >"$T/$name.in"
    finish "$name"
    assert_success
  done
}

# commands_since FILE MARK TEXT COUNT: clients have sent so many commands that name TEXT since the mark, see watch_wire.
commands_since() {
  local file=$1 mark=$2 text=$3 count=$4
  (($(sed -n "/\"mark-$mark\"/,\$p" "$file" | grep -v ' lua\] ' | grep -cF -e "$text") >= count))
}

# assert_untouched KEY VALUE EXPIRY: the key is what it was, until when it was.
assert_untouched() {
  local key=$1 value=$2 expiry=$3
  assert_equal "$(redis get "$key")" "$value"
  assert_equal "$(redis pexpiretime "$key")" "$expiry"
}

# launch_count NAME KEY FILE LOG STOP: rlock's part in the count of driver.py, until the file STOP is there; says what
# failed. It pauses between two runs: rlocks that wait pass the lock on among them, and others would not get their turn.
launch_count() {
  local name=$1 key=$2 file=$3 log=$4 stop=$5
  # shellcheck disable=SC2016
  launch "$name" sh -c 'until [ -e "$1" ]; do
    "$RLOCK_BIN" -q -w 60s -k "$2" -- sh -c "$3" sh "$4" "$5" || echo "exit code $?"; sleep 0.3; done' \
    sh "$stop" "$key" 'n=$(cat "$1"); echo rlock >>"$2"; sleep 0.005; echo $((n + 1)) >"$1"' "$file" "$log"
}

# turns_taken LOG COUNT: the lock has gone from one kind of counter to the other so many times.
turns_taken() {
  local log=$1 count=$2
  [[ -e $log ]] && (($(uniq "$log" | wc -l) > count))
}

# lose_to NAME: an rlock that stands still loses $K to the client (by the `let_hold` of its file), and stops its job when
# it hears of that.
lose_to() {
  local name=$1
  start holder -k "$K" -t 6s -- "$LIB/until-file" "$T/never"
  wait_until says "$T/holder.out" started
  signal STOP holder
  redis del "$K"
  let_hold "$name"
  signal CONT holder
  finish holder
  assert_equal "$status" 76
}
