# shellcheck shell=bash
# Every signal that can be caught, and a job that counts them.

# Not here: KILL and STOP, which nobody catches; CHLD, which tells each process of its own children; and 32 and 33, which
# glibc keeps for its threads. TERM and INT stop the job: a second one of them means something else.
readonly STOPPING='15 2'
readonly OTHERS='1 3 4 5 6 7 8 10 11 12 13 14 16 18 20 21 22 23 24 25 26 27 28 29 30 31 34 37 50 64'

# counting COMMAND...: COMMAND is in front of the job that counts; returns when the job runs. Each line from $T/in makes
# it signal its own group.
counting() {
  ulimit -c 0
  [[ -e $T/count ]] || gcc -O1 -o "$T/count" "$LIB/count_signals.c"
  rm -f "$T/log" "$T/end" "$T/in"
  mkfifo "$T/in"
  # shellcheck disable=SC2016,SC2086
  launch holder bash -c 'exec "$@" <>"$T/in"' - "$@" "$T/count" "$T/log" "$T/end" $OTHERS $STOPPING
  wait_until says "$T/log" started
}

# logged NUMBER: the job got it.
logged() {
  grep -qx "$1" "$T/log"
}

# counts_each SEND: for each signal, `SEND NUMBER` has it sent, and the job gets it once. The last one marks the end:
# what is passed on is passed on in order.
counts_each() {
  local number
  for number in $OTHERS; do
    "$@" "$number"
    wait_until logged "$number"
  done
  ended_with "$OTHERS"
}

# counts_one NUMBER SEND: the same, for a signal that ends the run
counts_one() {
  local number=$1
  shift
  "$@" "$number"
  wait_until logged "$number"
  sleep 0.3 # a second one would have come by then
  ended_with "$number"
}

# ended_with NUMBERS: the job's own exit code, and it got these, in this order
ended_with() {
  touch "$T/end"
  finish holder
  assert_equal "$(tail -n +2 "$T/log" | tr '\n' ' ')" "$1 "
  assert_equal "$status" 7
}
