# shellcheck shell=bash
# etcd servers on loopback: one, or a cluster of three, stopped by pid as the Redis servers are.

# start_etcd [OPTION...]: ETCD_PORT is its port.
start_etcd() {
  local dir
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  ETCD_PORT=$(free_port)
  etcd_options "$dir" one "$ETCD_PORT" "$(free_port)" "$@"
  launch_etcd "$dir"
  OWN_SERVERS+=("$dir")
  wait_until etcd_answers "$ETCD_PORT"
  export RLOCK_SERVER=etcd://127.0.0.1:$ETCD_PORT
}

# start_etcd_cluster [OPTION...]: three; ETCD_NODES are the directories, ETCD_PORTS the ports.
start_etcd_cluster() {
  local number dir
  local -a peers=() lines=()
  ETCD_NODES=()
  ETCD_PORTS=()
  for number in 0 1 2; do
    peers[number]=$(free_port)
    ETCD_PORTS[number]=$(free_port)
    lines+=("n$number=http://127.0.0.1:${peers[number]}")
  done
  for number in 0 1 2; do
    dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
    etcd_options "$dir" "n$number" "${ETCD_PORTS[number]}" "${peers[number]}" "$@" \
      --initial-cluster "$(IFS=, && echo "${lines[*]}")"
    launch_etcd "$dir"
    ETCD_NODES+=("$dir")
    OWN_SERVERS+=("$dir")
  done
  for number in 0 1 2; do
    wait_until etcd_answers "${ETCD_PORTS[number]}"
  done
  export RLOCK_SERVER
  RLOCK_SERVER=$(etcd_url 0 1 2)
}

# etcd_url NUMBER...: these of the cluster.
etcd_url() {
  local number
  local -a hosts=()
  for number; do hosts+=("127.0.0.1:${ETCD_PORTS[number]}"); done
  (IFS=, && echo "etcd://${hosts[*]}")
}

# etcd_options DIR NAME PORT PEER-PORT [OPTION...]: for each launch.
etcd_options() {
  local dir=$1 name=$2 port=$3 peer=$4
  shift 4
  printf '%s\0' --name "$name" --data-dir "$dir/data" --listen-client-urls "http://127.0.0.1:$port" \
    --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --unsafe-no-fsync \
    --initial-cluster "$name=http://127.0.0.1:$peer" "$@" >"$dir/options"
}

# launch_etcd DIR: also again, with the same data.
launch_etcd() {
  local dir=$1
  local -a options
  mapfile -d '' -t options <"$dir/options"
  GOMAXPROCS=1 setpriv --pdeathsig KILL etcd "${options[@]}" </dev/null >>"$dir/log" 2>&1 3>&- &
  echo "$!" >"$dir/pid"
}

# etcd_cli PORT COMMAND...: etcd's own client.
etcd_cli() {
  local port=$1
  shift
  ETCDCTL_API=3 etcdctl --endpoints "127.0.0.1:$port" "$@" </dev/null
}

etcd_answers() {
  local port=$1
  etcd_cli "$port" --command-timeout 2s get /nothing >/dev/null 2>&1
}

# etcd_leader, etcd_follower: the number (from 0) of the one that leads, of one that follows.
etcd_leader() { etcd_in_role true; }
etcd_follower() { etcd_in_role false | sed -n 1p; }

etcd_in_role() {
  local leads=$1 number
  for number in 0 1 2; do
    if [[ $(etcd_cli "${ETCD_PORTS[number]}" endpoint status -w json 2>/dev/null |
      jq '.[0].Status | .leader == .header.member_id') == "$leads" ]]; then
      echo "$number"
    fi
  done
}
