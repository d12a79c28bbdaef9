# shellcheck shell=bash
# ZooKeeper servers on loopback: one, or an ensemble of three, stopped by pid as the Redis servers are.

# start_zookeeper [CONF-LINE...]: ZK_PORT is its port.
start_zookeeper() {
  local dir
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  ZK_PORT=$(free_port)
  printf '%s\n' "clientPort=$ZK_PORT" "$@" >"$dir/own"
  launch_zookeeper "$dir"
  OWN_SERVERS+=("$dir")
  wait_until zookeeper_answers "$ZK_PORT"
  export RLOCK_SERVER=zk://127.0.0.1:$ZK_PORT
}

# start_ensemble: three of them; ZK_NODES are the directories, ZK_PORTS the ports.
start_ensemble() {
  local number dir
  local -a peers=() lines=()
  ZK_NODES=()
  ZK_PORTS=()
  for number in 1 2 3; do
    peers=("$(free_port)" "$(free_port)")
    lines+=("server.$number=127.0.0.1:${peers[0]}:${peers[1]}")
  done
  for number in 1 2 3; do
    dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
    ZK_PORTS+=("$(free_port)")
    printf '%s\n' "clientPort=${ZK_PORTS[-1]}" initLimit=50 syncLimit=10 "${lines[@]}" >"$dir/own"
    echo "$number" >"$dir/myid"
    launch_zookeeper "$dir"
    ZK_NODES+=("$dir")
    OWN_SERVERS+=("$dir")
  done
  for number in 0 1 2; do
    wait_until zookeeper_answers "${ZK_PORTS[number]}"
  done
  export RLOCK_SERVER
  RLOCK_SERVER=$(zk_url 0 1 2)
}

# zk_url NUMBER...: of these of the ensemble.
zk_url() {
  local number
  local -a hosts=()
  for number; do hosts+=("127.0.0.1:${ZK_PORTS[number]}"); done
  (IFS=, && echo "zk://${hosts[*]}")
}

# start_zookeeper_proxy: before the one server; PROXIED is the way to it.
start_zookeeper_proxy() {
  local port
  port=$(free_port)
  start_proxy_between "tcp:$port" "tcp:$ZK_PORT"
  PROXIED=zk://127.0.0.1:$port
}

# launch_zookeeper DIR: also again, with the same data, which outlives a server that is killed without being forced to
# the disk. The heap is what `ls` of a few nodes needs.
launch_zookeeper() {
  local dir=$1
  printf '%s\n' "dataDir=$dir" clientPortAddress=127.0.0.1 tickTime=200 minSessionTimeout=400 \
    maxSessionTimeout=60000 admin.enableServer=false maxClientCnxns=0 4lw.commands.whitelist=srvr,wchs \
    extendedTypesEnabled=true znode.container.checkIntervalMs=500 >"$dir/conf"
  cat "$dir/own" >>"$dir/conf"
  setpriv --pdeathsig KILL java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto \
    -Dznode.container.checkIntervalMs=500 -Dzookeeper.forceSync=no -cp "$(zookeeper_jars)" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/conf" </dev/null >"$dir/log" 2>&1 3>&- &
  echo "$!" >"$dir/pid"
}

zookeeper_jars() {
  echo /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar
}

# zookeeper_cli PORT COMMAND...: ZooKeeper's own client, as "get /rlock/k/slots/s".
zookeeper_cli() {
  local port=$1
  shift
  java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -cp "$(zookeeper_jars):/usr/share/java/commons-cli.jar" \
    org.apache.zookeeper.ZooKeeperMain -server "127.0.0.1:$port" "$@" 2>&1 </dev/null
}

# four_letters PORT WORD: one of ZooKeeper's questions.
four_letters() {
  local port=$1 word=$2
  (exec 9<>"/dev/tcp/127.0.0.1/$port" && echo "$word" >&9 && timeout 2 cat <&9) 2>/dev/null || true
}

zookeeper_answers() {
  local port=$1
  [[ $(four_letters "$port" srvr) == *Mode:* ]]
}

# zk_leader: the number (from 0) of the one that leads.
zk_leader() { zk_in_mode leader | sed -n 1p; }

# zk_follower: of one that follows.
zk_follower() { zk_in_mode follower | sed -n 1p; }

# zk_busy_follower: of the follower that more clients are connected to.
zk_busy_follower() {
  local number
  for number in $(zk_in_mode follower); do
    echo "$(four_letters "${ZK_PORTS[number]}" srvr | sed -n 's/^Connections: //p') $number"
  done | sort -n | sed -n '$s/.* //p'
}

zk_in_mode() {
  local mode=$1 number
  for number in 0 1 2; do
    if [[ $(four_letters "${ZK_PORTS[number]}" srvr) == *"Mode: $mode"* ]]; then
      echo "$number"
    fi
  done
}
