# shellcheck shell=bash
# Facts that a test can wait for, and assertions that bats-assert lacks.

now_us() {
  local now=$EPOCHREALTIME
  echo "${now/[.,]/}"
}

now_ms() {
  local now=$EPOCHREALTIME
  now=${now/[.,]/}
  echo "$((now / 1000))"
}

# wait_until COMMAND [ARG...]: polls until it succeeds, for $PATIENCE s; 20 are long enough for a sanitizer on a busy
# machine. Often at first, then less so: most of what a suite costs is asking whether something has happened yet.
wait_until() {
  local - && set +T
  local now=$EPOCHREALTIME deadline pause=0.02 polls=0
  deadline=$((${now/[.,]/} + ${PATIENCE:-20} * 1000000))
  until "$@"; do
    now=$EPOCHREALTIME
    if ((${now/[.,]/} > deadline)); then
      echo "never became true: $*"
      return 1
    fi
    ((++polls < 10)) || pause=0.05
    nap "$pause"
  done
}

gone() {
  local pid=$1
  ! process_alive "$pid"
}

in_state() {
  local pid=$1 wanted=$2
  [[ $(process_state "$pid") == "$wanted" ]]
}

is_of_user() {
  local pid=$1 user=$2
  [[ $(stat -c %u "/proc/$pid") == "$user" && $(<"/proc/$pid/comm") == sleep ]]
}

# says FILE TEXT: without a fork, since it is what most polls ask; a zero byte ends a part that is looked at.
says() {
  local file=$1 text=$2 part
  [[ -r $file ]] || return 1
  while IFS= read -rd '' part || [[ -n $part ]]; do
    [[ $part != *"$text"* ]] || return 0
  done <"$file"
  return 1
}

unsaid() {
  local file=$1 text=$2
  if says "$file" "$text"; then
    return 1
  fi
}

line_count_is() {
  local file=$1 wanted=$2
  [[ -e $file ]] && (($(wc -l <"$file") == wanted))
}

held() {
  local key=$1
  [[ $(redis exists "$key") == 1 ]]
}

free() {
  local key=$1
  [[ $(redis exists "$key") == 0 ]]
}

queued() {
  local key=$1 count=$2
  [[ $(redis zcard "$(companion "$key" queue)") == "$count" ]]
}

# listening N: so many clients block on a mailbox: waiters, and holders whose job outlives a second.
listening() {
  local count=$1
  (($(redis client list | grep -c cmd=blpop) >= count))
}

expiry_differs() {
  local key=$1 from=$2
  [[ $(redis pexpiretime "$key") != "$from" ]]
}

# wait_refreshed KEY: until the next refresh has come.
wait_refreshed() {
  local key=$1
  wait_until expiry_differs "$key" "$(redis pexpiretime "$key")"
}

wait_held() { wait_until held "$1"; }
wait_free() { wait_until free "$1"; }
wait_queued() { wait_until queued "$1" "$2"; }

# companion KEY SUFFIX: the name of a key that goes with KEY, in the same Cluster slot.
companion() {
  local key=$1 suffix=$2
  if [[ $key =~ ^[^{]*\{[^}]+\} ]]; then
    echo "$key:rlock:$suffix"
  else
    echo "{$key}:rlock:$suffix"
  fi
}

# The leftovers of an unused KEY, and of everything on the server: its fence, and the record of its runs.
only_left() {
  local key=$1
  diff <(redis --raw keys '*' | sort) <(printf '%s\n' "$(companion "$key" fence)" "$(companion "$key" runs)" | sort)
}

# How many mailboxes of KEY's family there are.
mailboxes() {
  local key=$1
  redis --raw keys '*:mail:*' | grep -cF -e "$key" || true
}

# The last fence given out for KEY.
fence() {
  local key=$1 value
  value=$(redis get "$(companion "$key" fence)")
  echo "${value%% *}"
}

# watch_wire FILE: MONITOR into FILE until the test ends; `wire_between FILE MARK MARK` are the commands that clients
# sent between two marks; commands inside scripts (`lua]`) are not on the wire.
watch_wire() {
  local file=$1
  launch monitor redis-cli -s "$SERVER/redis.sock" monitor
  wait_until says "$T/monitor.out" OK
  ln -s "$T/monitor.out" "$file"
}

# tokens_on_wire FILE COUNT: at least so many tokens were named.
tokens_on_wire() {
  local file=$1 count=$2
  (($(grep -oE '#[0-9a-f]{40}' "$file" | sort -u | wc -l) >= count))
}

wire_mark() {
  local file=$1 mark=$2
  redis echo "mark-$mark" >/dev/null
  wait_until says "$file" "mark-$mark"
}

wire_between() {
  local file=$1 from=$2 to=$3
  sed -n "/\"mark-$from\"/,/\"mark-$to\"/p" "$file" | grep -vE ' lua\] |"mark-' || true
}

end_watching() {
  kill "${PIDS[monitor]}"
  wait_until gone "${PIDS[monitor]}"
}

assert_stderr_line() {
  local text=$1
  # shellcheck disable=SC2154
  [[ $stderr == *"$text"* ]] || fail "stderr does not say: $text
stderr: $stderr"
}

assert_one_stderr_line() {
  local text
  [[ -n $stderr && $stderr != *$'\n'* ]] || fail "stderr is not one line: $stderr"
  [[ $stderr == 'rlock: '* ]] || fail "stderr does not begin with 'rlock: ': $stderr"
  for text in "$@"; do
    assert_stderr_line "$text"
  done
}

assert_silent() {
  [[ -z $stderr ]] || fail "stderr says: $stderr"
}

assert_less() {
  local small=$1 large=$2
  ((small < large)) || fail "$small is not less than $large"
}

# json FILTER ARG...: what rlock ARG... prints, through a strict JSON reader; d is the document.
json() {
  local expression=$1
  shift
  rlock "$@" | "$PYTHON" -c '
import json, sys
d = json.load(sys.stdin)
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))' "$expression"
}

# program_kb PID: what of the program's own file is in its memory
program_kb() {
  awk -v program="$(readlink "/proc/$1/exe")" '
    /^[0-9a-f]+-[0-9a-f]+ / { ours = $6 == program && $2 !~ /w/ }
    /^Rss:/ && ours { sum += $2 }
    END { print sum + 0 }' "/proc/$1/smaps"
}

needs_less_than() { (($(program_kb "$2") < $1)); }

# gives_back_memory NAME: half of the program at least, once it has waited for 5 s.
gives_back_memory() {
  local pid=${PIDS[$1]} at_first
  at_first=$(program_kb "$pid")
  PATIENCE=40 wait_until needs_less_than $((at_first / 2)) "$pid"
}
