# shellcheck shell=bash
# Private Redis servers for tests and demos. All that a server owns lies in one directory:
# its socket DIR/redis.sock, its pid DIR/pid, its log, and the options it was started with.
#
# Call start_redis and restart_redis from the shell that outlives the server, never inside $( ):
# the kernel kills the server when that shell is gone, so an interrupted run leaves nothing behind.

# The redis-server program. Debian's package redis-server also enables a system service, so only
# redis-tools is needed: there the server is the same file as redis-check-rdb, told apart by argv[0].
redis_program() {
  local dir=$1
  if command -v redis-server; then
    return 0
  fi
  ln -sfn "$(command -v redis-check-rdb)" "$dir/redis-server"
  echo "$dir/redis-server"
}

# nap SECONDS: without a fork. Nobody ever writes to that pipe.
nap() {
  local seconds=$1
  [[ -n ${NAP_PIPE:-} ]] || exec {NAP_PIPE}<> <(:)
  read -rt "$seconds" -u "$NAP_PIPE" || true
}

# start_redis DIR [REDIS-SERVER OPTION...]
start_redis() {
  local dir=$1
  shift
  mkdir -p "$dir"
  : >"$dir/options"
  if (($# > 0)); then
    printf '%s\0' "$@" >"$dir/options"
  fi
  restart_redis "$dir"
}

# restart_redis DIR: the same options again; without a saved file the data is gone, scripts too.
restart_redis() {
  local - && set +T
  local dir=$1 program
  local -a options
  mapfile -d '' -t options <"$dir/options"
  program=$(redis_program "$dir")
  rm -f "$dir/redis.sock"
  setpriv --pdeathsig KILL "$program" --port 0 --unixsocket "$dir/redis.sock" --unixsocketperm 777 \
    --dir "$dir" --logfile "$dir/log" --save '' --appendonly no "${options[@]}" \
    </dev/null >/dev/null 2>&1 3>&- &
  echo "$!" >"$dir/pid"
  await_redis "$dir"
}

# Any answer counts, also NOAUTH or LOADING: it is up.
await_redis() {
  local dir=$1 tries
  for ((tries = 0; tries < 1000; tries++)); do
    if redis-cli -s "$dir/redis.sock" ping >/dev/null 2>&1; then
      return 0
    fi
    if ! process_alive "$(<"$dir/pid")"; then
      break
    fi
    nap 0.01
  done
  echo "redis-server did not come up in $dir" >&2
  tail -n 5 "$dir/log" >&2
  return 1
}

# A zombie is gone: only its parent has not looked yet.
process_alive() {
  local state
  read_process_state "$1"
  [[ -n $state && $state != [ZX] ]]
}

process_state() {
  local state
  read_process_state "$1"
  echo "$state"
}

# read_process_state PID: into the caller's variable `state`, without a fork: thousands of polls ask for it.
read_process_state() {
  local pid=$1 name value
  state=''
  while read -r name value _; do
    if [[ $name == State: ]]; then
      state=$value
      break
    fi
  done 2>/dev/null <"/proc/$pid/status" || true
}

await_process_state() {
  local pid=$1 wanted=$2 tries
  for ((tries = 0; tries < 1000; tries++)); do
    if [[ $(process_state "$pid") == "$wanted" ]]; then
      return 0
    fi
    nap 0.01
  done
  return 1
}

# A silent server: connections are accepted by the kernel, nothing answers.
pause_redis() {
  local dir=$1 pid
  pid=$(<"$dir/pid")
  kill -STOP "$pid"
  await_process_state "$pid" T
}

resume_redis() {
  local dir=$1
  kill -CONT "$(<"$dir/pid")"
}

# A dead server: connections are refused, the data is gone.
kill_redis() {
  local dir=$1
  signal_redis "$dir" KILL
}

stop_redis() {
  local - && set +T
  local dir=$1
  if [[ -e $dir/pid ]]; then
    kill -CONT "$(<"$dir/pid")" 2>/dev/null || true
    signal_redis "$dir" TERM || signal_redis "$dir" KILL
  fi
}

signal_redis() {
  local dir=$1 signal=$2 pid tries
  pid=$(<"$dir/pid")
  kill "-$signal" "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 300; tries++)); do
    if ! process_alive "$pid"; then
      return 0
    fi
    nap 0.01
  done
  return 1
}

# A TCP port on loopback that nobody uses at this moment: not of those that the kernel gives to clients (from 32768),
# one of which might have it a moment later.
free_port() { free_port_pair 0; }

# free_port_pair OFFSET: as above, and the one OFFSET above it is free as well. In a run of scripts/test each is given
# once: a server may take its time to listen.
free_port_pair() {
  "${PYTHON:-python3}" -c '
import os, random, socket, sys
claims = os.environ.get("TESTS_TMPDIR") or os.environ.get("BATS_RUN_TMPDIR")
while True:
    port = random.randrange(10000, 32767 - int(sys.argv[1]))
    try:
        for each in {port, port + int(sys.argv[1])}:
            with socket.socket() as s:
                s.bind(("127.0.0.1", each))
            if claims:
                os.mkdir(f"{claims}/port-{each}")
        break
    except OSError:
        pass
print(port)' "$1"
}
