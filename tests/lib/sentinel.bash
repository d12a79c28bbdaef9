# shellcheck shell=bash
# A master, two replicas and three sentinels that watch them, all of one test, on loopback.

# start_sentinels [SENTINEL-LINE...]: MASTER, REPLICAS and SENTINELS are the directories of the servers, SENTINEL_URL
# names the master through the sentinels, which have agreed on what there is. They take the master for gone when it has
# not answered for DOWN_AFTER ms; a test that is not about that has nothing to gain from it.
start_sentinels() {
  local number port
  local -a ports=()
  port=$(free_port)
  own_server --bind 127.0.0.1 --port "$port" --repl-diskless-sync-delay 0
  MASTER=$SERVER
  MASTER_PORT=$port
  REPLICAS=()
  SENTINELS=()
  for number in 1 2; do
    own_server --bind 127.0.0.1 --port "$(free_port)" --replicaof "127.0.0.1 $MASTER_PORT" --repl-diskless-sync-delay 0
    REPLICAS+=("$SERVER")
  done
  wait_until has_replicas 2
  for number in 1 2 3; do
    start_sentinel "$@"
    ports+=("127.0.0.1:$SENTINEL_PORT")
  done
  SENTINEL_URL="redis+sentinel://$(IFS=,; echo "${ports[*]}")/main"
  wait_until sentinels_agree
  use_server "$MASTER"
  export RLOCK_SERVER=$SENTINEL_URL
}

# start_sentinel [LINE...]: SENTINEL_PORT is its port.
start_sentinel() {
  local dir program
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  SENTINEL_PORT=$(free_port)
  printf '%s\n' "port $SENTINEL_PORT" 'bind 127.0.0.1' "dir $dir" "logfile $dir/log" \
    "unixsocket $dir/redis.sock" "sentinel monitor main 127.0.0.1 $MASTER_PORT 2" \
    "sentinel down-after-milliseconds main ${DOWN_AFTER:-15000}" 'sentinel failover-timeout main 5000' "$@" >"$dir/conf"
  program=$(redis_program "$dir")
  setpriv --pdeathsig KILL "$program" "$dir/conf" --sentinel </dev/null >/dev/null 2>&1 3>&- &
  echo "$!" >"$dir/pid"
  SENTINELS+=("$dir")
  OWN_SERVERS+=("$dir")
  await_redis "$dir"
}

has_replicas() {
  local count=$1
  [[ $(redis-cli -s "$MASTER/redis.sock" wait "$count" 100) == "$count" ]]
}

# Each knows the two others and both replicas.
sentinels_agree() {
  local dir
  for dir in "${SENTINELS[@]}"; do
    [[ $(redis-cli --no-auth-warning -s "$dir/redis.sock" ${SENTINEL_AUTH:+-a "$SENTINEL_AUTH"} info sentinel) \
      == *slaves=2,sentinels=3* ]] || return 1
  done
}

# fail_over: the master is gone for good; returns when the sentinels have named another. SERVER is that one then.
fail_over() {
  kill_redis "$MASTER"
  PATIENCE=60 wait_until has_new_master # a vote that was split is repeated after ten seconds
}

has_new_master() {
  local dir
  for dir in "${REPLICAS[@]}"; do
    if [[ $(redis-cli -s "$dir/redis.sock" role | head -n 1) == master ]]; then
      use_server "$dir"
      export RLOCK_SERVER=$SENTINEL_URL
      return 0
    fi
  done
  return 1
}
