#!/usr/bin/env bats
# rlock's log lines about a run: -v, -vv, --log-json, the journal, the label of a CI job.
load ../lib/rlock
load ../lib/namespaces

# logged FILE EVENT CONDITION: whether the first line of that event meets it.
logged() {
  jq -se --arg event "$2" "map(select(.event == \$event))[0] | $3" "$1"
}

@test "-v: the beginning and the end of a run, a line each" {
  attempt -v -k "$K" -- sh -c 'sleep 0.3; exit 3'
  assert_equal "$status" 3
  run cat "$T/attempt.err"
  assert_equal "${#lines[@]}" 2
  assert_line --index 0 --regexp "^rlock: got '$K' after [0-9.]+m?s, fence [0-9]+$"
  assert_line --index 1 --regexp "^rlock: released '$K' after [0-9.]+m?s, exit 3$"
  attempt -v -k "$K" -- sh -c 'kill -9 $$'
  assert_stderr_line "released '$K' after"
  assert_stderr_line ', signal 9'
}

@test "-v: the wait is told, and of several keys each has its lines" {
  hold holder -k "$K"
  start waiter -v -k "$K" -k "$K.b" -w 60s -- true
  wait_queued "$K" 1
  sleep 1.2
  let_go holder
  finish waiter
  assert_success
  run grep -c "got '$K\(.b\)\?' after [1-9]" "$T/waiter.err"
  assert_output 2
  run grep -c "released '$K\(.b\)\?' after " "$T/waiter.err"
  assert_output 2
}

@test "a log tells a wait of more than a second and its end, without -v" {
  hold holder -k "$K"
  start waiter -k "$K" -w 60s -- true
  start quiet -q -k "$K" -w 60s -- true
  wait_queued "$K" 2
  wait_until says "$T/waiter.err" "waiting for '$K': held by"
  let_go holder
  finish waiter
  finish quiet
  run cat "$T/waiter.err"
  assert_equal "${#lines[@]}" 2
  assert_line --index 1 --regexp "^rlock: got '$K' after [1-9][0-9]*s, fence [0-9]+$"
  [[ ! -s $T/quiet.err ]]
}

@test "acquire tells a wait and its end on stderr, and only the token on stdout" {
  hold holder -k "$K"
  start waiter acquire -k "$K" -t 30s -w 60s
  wait_until says "$T/waiter.err" "waiting for '$K': held by"
  let_go holder
  finish waiter
  assert_success
  says "$T/waiter.err" "rlock: got '$K' after"
}

@test "a log has no line about a wait of less than a second, nor about a slow connection" {
  hold holder -k "$K"
  start waiter -k "$K" -w 60s -- true
  wait_queued "$K" 1
  let_go holder
  finish waiter
  [[ ! -s $T/waiter.err ]]
  own_server
  pause_redis "$SERVER"
  start slow -S "unix://$SERVER/redis.sock" -k "$K" -w 60s -- true
  sleep 1.5
  resume_redis "$SERVER"
  finish slow
  assert_success
  [[ ! -s $T/slow.err ]]
}

@test "the first line about a wait tells the holder of that moment" {
  hold first -k "$K" --label first
  start second -k "$K" -w 60s --label second -- "$LIB/until-file" "$T/second.go"
  wait_queued "$K" 1
  start third -k "$K" -w 60s -- true
  wait_queued "$K" 2
  # Until its second is over, it knows nothing newer than its arrival.
  signal STOP third
  let_go first
  wait_until says "$T/second.out" started
  sleep 1
  signal CONT third
  wait_until says "$T/third.err" waiting
  run cat "$T/third.err"
  assert_output --regexp "^rlock: waiting for '$K': held by [^ ]*/second for [0-9.]+m?s, position 1"
  let_go second
  finish third
}

@test "-vv: connections, questions and answers, and never a password" {
  own_server
  redis config set requirepass geheim
  attempt -vv -S "unix://:geheim@$SERVER/redis.sock" -k "$K" -- true
  assert_success
  assert_stderr_line "connected to $SERVER/redis.sock"
  assert_stderr_line "acquire '$K': granted with fence "
  assert_stderr_line "release '$K': done ("
  refute grep -q geheim "$T/attempt.err"
  REDISCLI_AUTH=geheim attempt -v -v -k "$K" -- true
  assert_stderr_line "acquire '$K': granted with fence "
  refute grep -q geheim "$T/attempt.err"
}

@test "-vv: a waiter's and a refresher's conversation" {
  hold holder -vv -k "$K" -t 1s
  start waiter -vv -k "$K" -w 60s -- true
  wait_until says "$T/waiter.err" "acquire '$K': queued behind 0 waiters, held by $(id -un)@"
  wait_until says "$T/holder.err" "refresh '$K': valid for "
  wait_until says "$T/holder.err" "listen '$K': connected"
  let_go holder
  finish waiter
  grep -q "wait '$K': time to ask again" "$T/waiter.err"
}

@test "--log-json: each line is an object with its time, level, event, key and fields" {
  hold holder -k "$K"
  start waiter --log-json -v -k "$K" -w 60s -- true
  wait_queued "$K" 1
  wait_until says "$T/waiter.err" '"event":"waiting"'
  let_go holder
  finish waiter
  run jq -c '[.event, .key, .level]' "$T/waiter.err"
  assert_output "[\"waiting\",\"$K\",\"notice\"]
[\"granted\",\"$K\",\"notice\"]
[\"released\",\"$K\",\"info\"]"
  logged "$T/waiter.err" waiting '.position == 1 and (.holder | contains("@")) and (.time | fromdateiso8601? // (sub("\\.[0-9]+"; "") | fromdateiso8601)) > 0'
  logged "$T/waiter.err" granted '.fence > 0 and .waited_ms >= 0'
  logged "$T/waiter.err" released '.outcome == "exited" and .number == 0 and .held_ms >= 0'
}

@test "--log-json: errors of usage and of servers, also from a variable or a file" {
  RLOCK_LOG_JSON=1 attempt -k "$K" -t 1ms -- true
  assert_equal "$status" 64
  jq -e '.level == "error" and .event == "message" and (.message | contains("--ttl"))' "$T/attempt.err"
  attempt --log-json -k "$K" --frobnicate -- true
  assert_equal "$status" 64
  jq -e '.level == "error" and (.message | contains("--frobnicate"))' "$T/attempt.err"
  attempt --log-json --config "$T/nothing" -k "$K" -- true
  assert_equal "$status" 78
  jq -e '.level == "error" and (.message | contains("nothing"))' "$T/attempt.err"
  RLOCK_LOG_JSON=1 attempt lst
  assert_equal "$status" 64
  jq -e '.message | contains("lst")' "$T/attempt.err"
  echo 'log-json = yes' >"$T/conf"
  attempt --config "$T/conf" -S "unix://$T/nothing.sock" inspect $'a\n"b'
  assert_equal "$status" 69
  assert_equal "$(wc -l <"$T/attempt.err")" 1
  jq -e '.key == "a\n\"b" and .level == "error"' "$T/attempt.err"
}

@test "--log-json: a job that is stopped, and why" {
  hold holder --log-json -k "$K"
  attempt cancel --reason 'wrong branch' "$K"
  finish holder
  logged "$T/holder.err" asked-to-stop '.key == "'"$K"'" and (.message | contains("wrong branch"))'
}

@test "where stderr is not the stream that JOURNAL_STREAM names, lines go to stderr" {
  JOURNAL_STREAM=1:2 attempt -v -k "$K" -- true
  assert_stderr_line "released '$K'"
}

@test "where stderr is the journal, lines are sent to its socket, with fields; or to stderr if nobody is there" {
  own_mounts
  cat >"$T/journal.py" <<'PYTHON'
import os, socket, subprocess, sys
path = "/run/systemd/journal/socket"
os.makedirs(os.path.dirname(path))
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(path)
with open(sys.argv[1], "w") as stderr:
    found = os.fstat(stderr.fileno())
    os.environ["JOURNAL_STREAM"] = "%d:%d" % (found.st_dev, found.st_ino)
    subprocess.run(sys.argv[2:], stderr=stderr, check=True)
journal.setblocking(False)
for _ in range(2):
    print(journal.recv(65536).decode().replace("\n", "|"))
os.unlink(path)
with open(sys.argv[1], "a") as stderr:
    subprocess.run(sys.argv[2:], stderr=stderr, check=True)
PYTHON
  "${INSIDE[@]}" bash -c 'mount -t tmpfs none /run && exec "$@"' - \
    "$PYTHON" "$T/journal.py" "$T/stderr" "$RLOCK_BIN" -v -k "$K" -- true >"$T/datagrams"
  run cat "$T/datagrams"
  assert_line --index 0 --regexp "^MESSAGE=got '$K' after .*\|PRIORITY=6\|SYSLOG_IDENTIFIER=rlock\|RLOCK_EVENT=granted\|RLOCK_KEY=$K\|RLOCK_FENCE=[0-9]+\|RLOCK_WAITED_MS=[0-9]+\|$"
  assert_line --index 1 --regexp "^MESSAGE=released '$K' after .*\|RLOCK_OUTCOME=exited\|RLOCK_NUMBER=0\|$"
  # The second time there was no socket.
  assert_equal "$(grep -c "^rlock: got '$K'" "$T/stderr")" 1
  assert_equal "$(wc -l <"$T/stderr")" 2
}

@test "in a CI job its name and URL are the label; --label wins" {
  export GITHUB_ACTIONS=true GITHUB_WORKFLOW=Release GITHUB_JOB=deploy GITHUB_SERVER_URL=https://github.com
  export GITHUB_REPOSITORY=shop/web GITHUB_RUN_ID=99
  attempt -k "$K" -- "$RLOCK_BIN" inspect --json "$K"
  assert_equal "$(jq -r .holder.label "$T/attempt.out")" 'Release/deploy https://github.com/shop/web/actions/runs/99'
  attempt -k "$K" --label mine -- "$RLOCK_BIN" inspect --json "$K"
  assert_equal "$(jq -r .holder.label "$T/attempt.out")" mine
  GITHUB_JOB=$(printf 'x%.0s' {1..500}) attempt -k "$K" -- true
  assert_success
}

# remember MS: records three runs under $K of that length.
remember() {
  local now
  now=$(date +%s%3N)
  redis del "$(companion "$K" runs)" >/dev/null
  for _ in 1 2 3; do
    redis lpush "$(companion "$K" runs)" "$(printf '1\tu@h:1/x#1\t%d\t0\t\t\t%d\texited 0\t' $((now - $1)) "$now")" >/dev/null
  done
}

@test "a waiter sees how long: in a log and by inspect; nothing if the holder is far over that" {
  hold holder -k "$K"
  remember 60000
  start first -k "$K" -w 60s -- true
  wait_queued "$K" 1
  start second --log-json -k "$K" -w 60s -- true
  wait_queued "$K" 2
  wait_until says "$T/first.err" ', position 1, about '
  wait_until says "$T/second.err" '"event":"waiting"'
  logged "$T/second.err" waiting '.position == 2 and .expected_ms > 60000 and .expected_ms < 120000'
  attempt inspect --json "$K"
  jq -e '.waiters | length == 2 and .[0].expected_ms + 60000 == .[1].expected_ms' "$T/attempt.out"
  attempt inspect "$K"
  assert_output --partial ' to go'
  remember 10
  attempt inspect "$K"
  refute_output --partial ' to go'
  attempt inspect --json "$K"
  jq -e '.waiters[0].expected_ms == null' "$T/attempt.out"
  let_go holder
  finish first
  finish second
}

@test "over 20 alike runs in a queue the estimate is off by a quarter at most, in the median" {
  local i
  for i in 1 2 3; do attempt -k "$K" -- sleep 0.3; done
  for i in {1..20}; do start "w$i" --log-json -v -k "$K" -w 60s -- sleep 0.3; done
  for i in {1..20}; do finish "w$i"; done
  # From the moment of the first line to the grant, against what the line said.
  "$PYTHON" - "$T"/w*.err >"$T/errors" <<'PYTHON'
import datetime, json, sys
def moment(line):
    return datetime.datetime.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.%fZ").timestamp() * 1000
errors = []
for name in sys.argv[1:]:
    lines = [json.loads(line) for line in open(name)]
    said = [line for line in lines if line["event"] == "waiting"]
    granted = [line for line in lines if line["event"] == "granted"]
    if said and "expected_ms" in said[0]:
        took = moment(granted[0]) - moment(said[0])
        errors.append(abs(said[0]["expected_ms"] - took) / took)
errors.sort()
print(len(errors), "estimates, median error %.3f, the worst %.3f" % (errors[len(errors) // 2], errors[-1]))
PYTHON
  cat "$T/errors"
  run awk '{ exit !($1 >= 15 && $5 + 0 <= 0.25) }' "$T/errors"
  assert_success
}
