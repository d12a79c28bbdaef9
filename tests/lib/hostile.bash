# shellcheck shell=bash
# Servers that mean no good, and what every question to them has to cost.

# rlock's limit of memory, in KiB. One answer: 16 MiB in hiredis' buffer, at worst 16 MiB more for what is made
# of it, 26 MiB of elements; a list: 64 MiB. Sanitizers keep freed memory, up to 256 MiB, and shadow the rest.
memory_bar() {
  if sanitized; then
    echo $((640 * 1024))
  else
    echo $((128 * 1024))
  fi
}

# The longest that rlock may take, in ms: an answer is waited for 5 s, a lost one is asked for again, a goodbye waits
# 1 s more; `doctor` as a whole may take 20 s, a list 30 s. The rest is for a busy machine, on which forty at a time
# look for leaks when they end.
time_bar() {
  if sanitized; then
    echo 36000
  else
    echo 28000
  fi
}
readonly LIST_TIME_BAR=38000

# start_hostile [PORT=NAME...]: see lib/hostile.py
start_hostile() {
  HOSTILE=$(mktemp -d "$FILE_SERVER/hostile.XXXX")
  mkfifo "$T/hostile.control"
  : >"$T/hostile.log"
  launch hostile "$PYTHON" "$LIB/hostile.py" "$HOSTILE" "$SERVER/redis.sock" "$T/hostile.control" "$T/hostile.log" "$@"
  wait_until says "$T/hostile.log" listening
}

stop_hostile() {
  kill "${PIDS[hostile]}"
  wait_until gone "${PIDS[hostile]}"
}

# turn_hostile: the servers `later-NAME` show what they are; `turn_back` hides it.
turn_hostile() {
  echo turn >"$T/hostile.control"
  wait_until says "$T/hostile.log" 'mode turn'
}

turn_back() {
  echo back >"$T/hostile.control"
  wait_until says "$T/hostile.log" 'mode back'
}

# survey NAME...: every question of lib/survey.py to each of these; the table is $T/survey.
survey() {
  local -a urls=("${@/#/unix://$HOSTILE/}")
  survey_urls "${urls[@]}"
}

survey_urls() {
  "$PYTHON" "$LIB/survey.py" "$T" "$T/survey" "$@" 3>&-
  assert_equal "$(wc -l <"$T/survey")" "$((16 * $#))"
  run awk -v time="$(time_bar)" -v list_time="$LIST_TIME_BAR" -v memory="$(memory_bar)" '
    $3 == "never" || $4 > ($2 ~ /^list/ ? list_time : time) || $5 > memory' "$T/survey"
  assert_output ''
}

# cost_of NAME.COMMAND: of the survey, in KiB
cost_of() {
  awk -v name="${1%.*}" -v command="${1##*.}" '$1 == name && $2 == command { print $5 }' "$T/survey"
}

# all_refused: every one of the survey ended with 69, doctor with 1 and its table.
all_refused() {
  run awk '$3 != ($2 == "doctor" ? 1 : 69)' "$T/survey"
  assert_output ''
}

# all_in CODE...: every exit code of the survey is one of these.
all_in() {
  local codes=" $* "
  run awk -v codes="$codes" '!index(codes, " " $3 " ")' "$T/survey"
  assert_output ''
}

# assert_clean FILE...: nothing in them that a terminal obeys, or that turns the order of what is read.
assert_clean() {
  run env LC_ALL=C grep -aHnP '[^\n\x20-\x7e\x80-\xff]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$@"
  assert_output ''
  local file
  for file; do
    iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || fail "$file is not UTF-8"
  done
}

# peak_of NAME: the most memory that it ever had, in KiB.
peak_of() {
  local name=$1
  sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/${PIDS[$name]}/status"
}
