#!/usr/bin/env bats
# --status-file: what became of a run, for programs.
load ../lib/rlock
load ../lib/others
load ../lib/namespaces

# status_of EXPRESSION: of the document d in $T/status.
status_of() {
  local expression=$1
  "$PYTHON" -c '
import json, sys
d = json.load(open(sys.argv[1]))
v = eval(sys.argv[2])
print(v if isinstance(v, str) else json.dumps(v))' "$T/status" "$expression"
}

with_status() { attempt --status-file "$T/status" -k "$K" "$@"; }

@test "a job that ran: its exit code, key, token, fence, and how long" {
  with_status -- sh -c 'echo "$RLOCK_TOKEN"; sleep 0.1; exit 3'
  assert_equal "$status" 3
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["job"], d["key"], d["keys"]]')" \
    "[\"ran\", 3, {\"exit_code\": 3, \"signal\": null}, \"$K\", [{\"key\": \"$K\", \"fence\": $(fence "$K"), \"permit\": null, \"resource\": null}]]"
  assert_equal "$(status_of 'd["token"]')" "$output"
  assert_equal "$(status_of 'd["fence"]')" "$(fence "$K")"
  assert_equal "$(status_of '[d["lost_why"], d["why"]]')" '[null, null]'
  assert_less 99 "$(status_of 'd["held_ms"]')"
  assert_less "$(status_of 'd["waited_ms"]')" 20000
}

@test "a job that died of a signal" {
  with_status -- sh -c 'kill -9 $$'
  assert_equal "$status" 137
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["job"]]')" '["ran", 137, {"exit_code": null, "signal": 9}]'
}

@test "a command that could not be run" {
  with_status -- "$T/no-such"
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["job"], d["why"]]')" \
    '["not-started", 127, null, "No such file or directory"]'
}

@test "a lock that another holds, and one that was waited for in vain" {
  redis set "$K" foreign px 60000
  with_status -- true
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["job"], d["token"], d["fence"], d["held_ms"]]')" \
    '["busy", 75, null, null, null, null]'
  [[ $(status_of 'd["why"]') == 'held by a foreign client (foreign)'* ]]
  with_status -E 5 -w 300ms -- true
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["busy", 5]'
  assert_less 299 "$(status_of 'd["waited_ms"]')"
}

@test "a lost lock, and why" {
  start job --status-file "$T/status" -k "$K" --ttl 9s --grace 4s -- "$LIB/until-file" "$T/never"
  wait_until says "$T/job.out" started
  redis set "$K" thief px 60000
  finish job
  assert_equal "$status" 76
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["job"], d["lost_why"]]')" \
    '["lost", 76, {"exit_code": null, "signal": 15}, "the key has another holder"]'
}

@test "a lost lock that was only warned of, and why" {
  start job --status-file "$T/status" -k "$K" --ttl 3s --on-lost warn -- "$LIB/until-file" "$T/job.go"
  wait_until says "$T/job.out" started
  redis set "$K" thief px 60000
  wait_until says "$T/job.err" 'the job runs on'
  touch "$T/job.go"
  finish job
  assert_success
  assert_equal "$(status_of '[d["outcome"], d["exit_code"], d["lost_why"]]')" '["ran", 0, "the key has another holder"]'
}

@test "a cancelled job, and by whom" {
  own_server
  start job --status-file "$T/status" -k "$K" -- "$LIB/until-file" "$T/never"
  wait_until listening 1
  attempt cancel "$K"
  finish job
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["stopped", 76]'
  assert_equal "$(status_of 'd["lost_why"]')" "cancelled by $(id -un)@$(hostname)"
}

@test "interrupted while it waited" {
  hold holder -k "$K"
  start waiter --status-file "$T/status" -k "$K" -w 60s -- true
  wait_queued "$K" 1
  signal TERM waiter
  finish waiter
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["interrupted", 143]'
  let_go holder
}

@test "no server" {
  RLOCK_SERVER=unix://$T/nobody.sock with_status -- true
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["failed", 69]'
  [[ $(status_of 'd["why"]') == *'No such file'* ]]
}

@test "a key that others use in another way, and a nested run" {
  hold holder -k "$K" --permits 3
  with_status -- true
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["mismatch", 78]'
  let_go holder
  attempt -k "$K" -- "$RLOCK_BIN" --status-file "$T/status" -k "$K" -- true
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["busy", 75]'
}

@test "several keys each have their fence" {
  with_status -k "$K:b" -- true
  assert_equal "$(status_of 'd["keys"]')" "[{\"key\": \"$K\", \"fence\": $(fence "$K"), \"permit\": null, \"resource\": null}, {\"key\": \"$K:b\", \"fence\": $(fence "$K:b"), \"permit\": null, \"resource\": null}]"
}

@test "the file is replaced as a whole, with mode 600 and nothing beside it" {
  mkdir "$T/dir"
  printf '%5000s' old >"$T/dir/status"
  chmod 644 "$T/dir/status"
  attempt --status-file "$T/dir/status" -k "$K" -- cat "$T/dir/status"
  assert_equal "${#output}" 5000 # the old one is there until the end
  assert_equal "$(stat -c %a "$T/dir/status")" 600
  "$PYTHON" -m json.tool "$T/dir/status" >/dev/null
  assert_equal "$(ls -A "$T/dir")" status
}

@test "a symbolic link stays one, and what is no file is written to" {
  ln -s "$T/real" "$T/link"
  touch "$T/real"
  attempt --status-file "$T/link" -k "$K" -- true
  [[ -L $T/link ]]
  "$PYTHON" -m json.tool "$T/real" >/dev/null
  attempt --status-file /dev/stdout -k "$K" -- true
  assert_success
  assert_output --partial '"outcome": "ran"'
}

@test "a file that cannot be written is a usage error before anything is touched" {
  attempt --status-file "$T/no/such/file" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line '--status-file' 'No such file or directory'
  attempt --status-file "$T" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  attempt --status-file= -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "--status-file: '' is not valid; expected "
  [[ ! -e $T/ran ]]
  [[ $(redis exists "$(companion "$K" fence)") == 0 ]]
}

# in_namespace COMMAND: in a mount namespace of its own.
in_namespace() {
  local command=$1
  own_mounts
  "${INSIDE[@]}" bash -ec "$command"
}

@test "a file that is a mount of its own is written where it is" {
  printf '%01000d' 0 >"$T/source" # longer than what comes
  : >"$T/log"
  run -0 --separate-stderr in_namespace 'mount --bind "$T/source" "$T/log"
    "$RLOCK_BIN" -k "$K" --status-file "$T/log" -- sh -c "exit 3" || echo "code $?"
    jq -e ".exit_code == 3" "$T/log"
    ln -s log "$T/link"
    "$RLOCK_BIN" -k "$K" --status-file "$T/link" -- sh -c "exit 4" || echo "code $?"'
  assert_output $'code 3\ntrue\ncode 4'
  assert_equal "$stderr" ''
  run -0 jq -e '.exit_code == 4' "$T/source"
  [[ -z $(find "$T" -name '.rlock-*') ]]
}

@test "a mount of its own that is read-only is refused before the lock" {
  : >"$T/source"
  : >"$T/log"
  run --separate-stderr in_namespace 'mount --bind "$T/source" "$T/log"
    mount -o remount,bind,ro "$T/log"
    "$RLOCK_BIN" -k "$K" --status-file "$T/log" -- touch "$T/ran"'
  assert_equal "$status" 64
  assert_one_stderr_line "cannot write '$T/log': Read-only file system"
  [[ ! -e $T/ran ]]
}

# with_status_as_user ARG...: as a user who is not root.
with_status_as_user() {
  local as=()
  ((EUID != 0)) || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  HOME=$SERVER run --separate-stderr "${as[@]}" "$RLOCK_BIN" -k "$K" --status-file "$@"
}

@test "a file that may be written in a directory that may not is written where it is" {
  local file
  own_server # others may look into its directory
  file=$SERVER/fixed/status
  mkdir "$SERVER/fixed"
  echo old >"$file"
  ((EUID != 0)) || chown 65534 "$file"
  chmod 555 "$SERVER/fixed"
  with_status_as_user "$file" -- sh -c 'exit 3'
  assert_equal "$status" 3
  assert_equal "$stderr" ''
  run -0 jq -e '.exit_code == 3' "$file"
  # In a stranger's directory the name may be a second one of a file of ours.
  if ((EUID == 0)); then
    chown 12345 "$SERVER/fixed"
    with_status_as_user "$file" -- touch "$T/ran"
    assert_equal "$status" 64
    chown 0 "$SERVER/fixed"
  fi
  ((EUID == 0)) || chmod 755 "$SERVER/fixed"
  ln "$file" "$SERVER/fixed/second"
  chmod 555 "$SERVER/fixed"
  with_status_as_user "$file" -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
}

@test "another user's file in a sticky directory is refused before the job" {
  ((EUID == 0)) || return 0 # who else could make it
  own_server
  mkdir "$SERVER/sticky"
  chmod 1777 "$SERVER/sticky"
  echo theirs >"$SERVER/sticky/status"
  with_status_as_user "$SERVER/sticky/status" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "cannot write '$SERVER/sticky/status': Operation not permitted"
}

@test "a working directory that was removed, and one that only the real user may write to: 64, before the lock" {
  mkdir "$T/gone"
  cd "$T/gone"
  rmdir "$T/gone"
  attempt --status-file status -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line "cannot write 'status': No such file or directory"
  attempt -k "$K" -- true
  assert_success
  cd "$T"
  redis del "$(companion "$K" fence)" >/dev/null
  # A sanitizer may not look into the /proc of a process with two users.
  if ((EUID == 0)) && ! sanitized; then
    let_others_in
    mkdir "$T/roots"
    # shellcheck disable=SC2016
    RLOCK_BIN=$PYTHON attempt -c 'import os, sys
os.setgroups([])
os.setresgid(0, int(sys.argv[1]), int(sys.argv[1]))
os.setresuid(0, int(sys.argv[1]), int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])' "$SOMEBODY" "$OTHERS_RLOCK" --status-file "$T/roots/status" -k "$K" -- touch "$T/ran"
    assert_equal "$status" 64
    assert_one_stderr_line "cannot write '$T/roots/status': Permission denied"
  fi
  [[ ! -e $T/ran ]]
  [[ $(redis exists "$(companion "$K" fence)") == 0 ]]
}

@test "a busy run takes a file longer than any record for none, and does not read all of it" {
  local most=100000 program=$RLOCK_BIN
  ! sanitized || most=unlimited # it takes terabytes of addresses for itself
  redis set "$K" foreign px 60000
  truncate -s 3G "$T/status"
  # shellcheck disable=SC2016
  RLOCK_BIN=bash attempt -c 'ulimit -v "$0"; exec "$@"' "$most" "$program" --status-file "$T/status" -k "$K" -- true
  assert_equal "$status" 75
  assert_equal "$(status_of 'd["outcome"]')" busy
}

@test "a directory that vanished meanwhile is said, and the job's exit code stays" {
  mkdir "$T/dir"
  attempt --status-file "$T/dir/status" -k "$K" -- sh -c 'rmdir "$T/dir"; exit 3'
  assert_equal "$status" 3
  assert_one_stderr_line '--status-file: cannot write'
}

@test "any key gives valid JSON" {
  K=$'x"\\\e[31m\x01'$'\xff'
  with_status -- true
  assert_success
  "$PYTHON" -m json.tool "$T/status" >/dev/null
  unsaid "$T/status" $'\e'
}

@test "times of the wall clock, host and server" {
  local before after
  before=$(date -u +%Y-%m-%dT%H:%M:%S)
  with_status -- sleep 0.2
  after=$(date -u -d '+1 second' +%Y-%m-%dT%H:%M:%S)
  local pattern='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$'
  [[ $(status_of 'd["started_at"]') =~ $pattern && $(status_of 'd["ended_at"]') =~ $pattern ]]
  [[ ! $(status_of 'd["started_at"]') < $before && $(status_of 'd["ended_at"]') < $after ]]
  [[ $(status_of 'd["started_at"]') < $(status_of 'd["ended_at"]') ]]
  assert_equal "$(status_of 'd["host"]')" "$(hostname)"
  assert_equal "$(status_of 'd["server"]')" "$RLOCK_SERVER"
}

@test "it also reports a lock that was lost before its job ended" {
  with_status --ttl 60s -- sh -c 'redis-cli -s "$SERVER/redis.sock" set "$RLOCK_KEY" thief >/dev/null'
  assert_success
  assert_one_stderr_line 'had lost the lock'
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["ran", 0]'
  [[ $(status_of 'd["lost_why"]') != null ]]
}

@test "a job whose guardian was killed did not just run" {
  start job --status-file "$T/status" -k "$K" -- sh -c 'echo $PPID >"$T/guardian"; exec "$LIB/until-file" "$T/never"'
  wait_until says "$T/job.out" started
  kill -KILL "$(<"$T/guardian")"
  finish job
  assert_equal "$status" 137
  assert_equal "$(status_of '[d["outcome"], d["why"]]')" '["failed", "the guardian of the job was killed"]'
}

@test "a guardian that is killed while its job is stopped for a lost lock: lost, as the exit code says" {
  start holder --status-file "$T/status" -k "$K" --ttl 20s --grace 9s -- \
    sh -c 'trap "" TERM; echo started; while :; do sleep 0.05; done'
  wait_until says "$T/holder.out" started
  attempt force-release --yes --wait 0 "$K"
  wait_until says "$T/holder.err" 'stopping the job'
  kill -KILL "$(guardian_of holder)"
  finish holder
  assert_equal "$status" 76
  assert_equal "$(status_of 'd["outcome"], d["why"]')" '["lost", "the guardian of the job was killed"]'
}

@test "a run that finds the lock busy leaves the record of the last one that ran" {
  with_status -- sh -c 'exit 3'
  redis set "$K" foreign px 60000
  with_status -- true
  assert_equal "$status" 75
  assert_equal "$(status_of '[d["outcome"], d["exit_code"]]')" '["ran", 3]'
  : >"$T/status" # as mktemp makes it
  with_status -- true
  assert_equal "$(status_of 'd["outcome"]')" busy
  with_status -E 9 -- true
  assert_equal "$(status_of 'd["exit_code"]')" 9
  redis del "$K"
  with_status -- true
  assert_equal "$(status_of 'd["outcome"]')" ran
}

@test "a path of an open descriptor is written to, and what the job wrote stays" {
  local path
  for path in /dev/stdout /dev/stderr /dev/fd/5 /proc/self/fd/5; do
    rlock --status-file "$path" -k "$K" -- sh -c 'echo of-the-job' >"$T/both" 2>>"$T/both" 5>>"$T/both"
    grep -q of-the-job "$T/both"
    grep -q '"outcome": "ran"' "$T/both"
  done
  ln -s /dev/stdout "$T/link"
  { rlock --status-file "$T/link" -k "$K" -- echo of-the-job; echo after; } >"$T/both"
  assert_equal "$(sed -n '1p;$p' "$T/both")" $'of-the-job\nafter'
  attempt --status-file /dev/fd/77 -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  [[ ! -e $T/ran ]]
}

@test "a pipe that nobody reads does not hold the run up" {
  mkfifo "$T/pipe"
  attempt --status-file "$T/pipe" -k "$K" -- sh -c 'exit 3'
  assert_equal "$status" 3
  assert_one_stderr_line '--status-file: cannot write'
  free "$K"
}

@test "the reader of a full pipe gets all of a long record, if it reads on" {
  local -a keys=()
  local number
  for number in {1..60}; do keys+=(-k "$K:$number"); done
  rlock --status-file /dev/stdout "${keys[@]}" -- sh -c 'head -c 63000 /dev/zero; exit 3' |
    { sleep 1; tail -c +63001; } >"$T/record"
  python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["keys"]) == 60' "$T/record"
  assert_less 4096 "$(stat -c %s "$T/record")" # as much fits at once or not at all
}

@test "one that does not read on holds the run up for two seconds at most" {
  local before
  mkfifo "$T/pipe"
  exec 8<>"$T/pipe" # open for reading
  before=$(now_ms)
  attempt --status-file "$T/pipe" -k "$K" -- sh -c "head -c 65536 /dev/zero >'$T/pipe'; exit 3"
  assert_equal "$status" 3
  assert_one_stderr_line '--status-file: cannot write'
  assert_less $(($(now_ms) - before)) 7000
  exec 8>&-
}

@test "a name may be as long as a name can be; a longer one is refused before the job" {
  local name
  name=$(printf 'n%.0s' {1..255})
  attempt --status-file "$T/$name" -k "$K" -- sh -c 'exit 3'
  assert_equal "$status" 3
  assert_silent
  python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["exit_code"] == 3' "$T/$name"
  attempt --status-file "$T/n$name" -k "$K" -- touch "$T/ran"
  assert_equal "$status" 64
  assert_one_stderr_line 'File name too long'
  [[ ! -e $T/ran ]]
}
