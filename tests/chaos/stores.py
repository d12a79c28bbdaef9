"""The stores that chaos is made with: their servers, the ways to them, and what may befall them."""

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import packets
from servers import Etcd, Postgres, Proxy, Redis, Sentinel, ZooKeeper, free_port, until

KEYS = 3  # that all contend for
MOST_RUNS = 50  # of a key that are remembered


@dataclass
class Trouble:
    """begin() makes it; after so many seconds end() takes it away, and may say that it was of another kind."""

    kind: str
    seconds: float
    begin: Callable
    end: Callable = lambda: None
    via: str | None = None  # the way to the server that it is about
    concerns: Callable = lambda key: True  # whether the server had the key


class Store:
    modes = ("x",)
    has_leases = True
    supersedes = False

    def __init__(self, directory):
        self.directory = directory
        self.servers = []

    def add(self, server):
        self.servers.append(server)
        return server

    def ways(self):
        """Name to rlock's options."""

    def trouble(self, rng):
        """Some, or None."""
        return None

    def sweep(self, rlock, keys):
        """Leftovers of the dead go with the next user, if they do not expire."""

    def leftovers(self, slots):
        """The leftovers on the server after all clients have gone, without fences, which expire; runs were for so many
        slots."""
        return []

    def stop(self):
        for server in reversed(self.servers):
            server.resume()
            server.kill()


def companions(redis):
    """Unneeded keys on a server: all but fences, which expire within a day, and the record of runs and slots, which
    takes eight."""
    if redis.ask("ping") != "PONG":
        return [f"no answer from {redis.path}"]
    day = 86_400_000
    ends = {"fence": day, "runs": 8 * day, "slot": 8 * day}
    keys = redis.ask("keys", "*").split()
    return [key for key in keys
            if not 0 < int(redis.ask("pttl", key)) <= ends.get(key.rpartition(":rlock:")[2].partition(":")[0], 0)]


def wipe(redis, **more):
    return Trouble("wipe", 0, lambda: redis.ask("flushall"), **more)


def lost_packets(rng, port, both_ways, one_way, **more):
    """Two kinds, where they are allowed."""
    if not packets.ALLOWED:
        return []
    seconds = rng.choice([0.5, 3.0])
    return [Trouble(both_ways, seconds, lambda: packets.lose(port), packets.find, **more),
            Trouble(one_way, seconds, lambda: packets.lose(port, answers_only=True), packets.find, **more)]


def on_the_way(rng, proxy, grant):
    """Faults of clients behind a proxy; grant: a text in requests for one."""
    def trouble(kind, seconds, mode):
        return Trouble(kind, seconds, lambda: proxy.switch(mode), lambda: proxy.switch("pass"), via="proxy")

    return [trouble("cut", rng.choice([0.1, 1.0, 3.0]), "refuse"),
            trouble("stall", rng.choice([0.5, 3.0]), "stall"),
            trouble("delay", 1.0, "delay 100"),
            trouble("lost-reply", 1.0, f"drop-reply {grant}")]


def pause(kind, seconds, servers, end=lambda: None):
    def resume():
        for server in servers:
            server.resume()
        end()

    return Trouble(kind, seconds, lambda: [server.pause() for server in servers], resume)


class OneRedis(Store):
    """One server that keeps its data on the disk; some of the clients go through a proxy, some over a network."""

    modes = ("x", "x", "x", "s")
    supersedes = True

    def __init__(self, directory):
        super().__init__(directory)
        self.redis = self.add(Redis(f"{directory}/redis", port=free_port()))
        self.proxy = self.add(Proxy(f"{directory}/proxy", self.redis.path))

    def ways(self):
        return {"direct": ["-S", self.redis.url], "proxy": ["-S", self.proxy.url],
                "tcp": ["-S", f"redis://127.0.0.1:{self.redis.port}"]}

    def trouble(self, rng):
        return rng.choice([
            pause("server-paused", rng.choice([0.3, 1.0, 3.0]), [self.redis]),
            Trouble("restart", 0.2, self.redis.kill, self.redis.start),
            wipe(self.redis),
            *on_the_way(rng, self.proxy, "EVALSHA"),
            *lost_packets(rng, self.redis.port, "packets-lost", "answers-lost", via="tcp"),
        ])

    def leftovers(self, slots):
        return companions(self.redis)


class Replicated(Store):
    """Masters whose replicas take their place."""

    count = 1  # masters
    supersedes = True

    def masters(self):
        return [node for node in self.nodes if node.ask("role").splitlines()[:1] == ["master"]]

    def failover(self, rng, master, seconds, *more_ways, **more):
        return Trouble("failover", rng.choice(seconds), rng.choice([master.kill, master.pause, *more_ways]),
                       lambda: self.back(master), **more)

    def back(self, master):
        if packets.ALLOWED:
            packets.find()
        if master.process.poll() is not None:
            master.start()
        master.resume()
        self.await_order()
        return "down" if master in self.masters() else "failover"  # nobody took its place

    def leftovers(self, slots):
        masters = self.masters()
        if len(masters) != self.count:
            return [f"{len(masters)} masters"]
        return [key for master in masters for key in companions(master)]


class Sentinels(Replicated):
    def __init__(self, directory):
        super().__init__(directory)
        self.ports = [free_port() for _ in range(3)]
        self.nodes = []
        for number, port in enumerate(self.ports):
            more = [] if number == 0 else ["--replicaof", f"127.0.0.1 {self.ports[0]}"]
            self.nodes.append(self.add(Redis(f"{directory}/node{number}", "--repl-diskless-sync-delay", "0", *more,
                                             port=port)))
        until(lambda: self.nodes[0].ask("wait", "2", "100") == "2", "for the replicas")
        self.sentinels = [self.add(Sentinel(f"{directory}/sentinel{n}", self.ports[0])) for n in range(3)]
        until(lambda: all("slaves=2,sentinels=3" in each.ask("info", "sentinel") for each in self.sentinels),
              "for the sentinels to agree")

    def ways(self):
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in self.sentinels)
        return {"sentinels": ["-S", f"redis+sentinel://{hosts}/main"]}

    def trouble(self, rng):
        masters = self.masters()
        if len(masters) != 1:
            return None
        master = masters[0]
        cut_off = [lambda: packets.lose(master.port)] if packets.ALLOWED else []
        failover = self.failover(rng, master, [3.0, 4.0], *cut_off)
        return rng.choice([failover, failover, self.deposed(master), wipe(master)])

    def deposed(self, master):
        """Replaced, which the sentinels cannot tell it, and so it goes on serving."""
        def begin():
            master.ask("acl", "setuser", "default", "-replicaof", "-slaveof", "-multi", "-client")
            self.sentinels[0].ask("sentinel", "failover", "main")

        def end():
            master.ask("acl", "setuser", "default", "+@all")
            return self.back(master)

        return Trouble("failover", 4.0, begin, end)

    def await_order(self):
        until(lambda: len(self.masters()) == 1, "for one master")


class Cluster(Replicated):
    """Faults of one master do not concern the keys of the others."""

    modes = ("x", "x", "x", "s")
    count = 3

    def __init__(self, directory):
        super().__init__(directory)
        self.ports = [free_port(10000) for _ in range(6)]
        self.nodes = [self.add(Redis(f"{directory}/node{port}", "--cluster-enabled", "yes",
                                     "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
                                     "--repl-diskless-sync-delay", "0", port=port))
                      for port in self.ports]
        subprocess.run(["redis-cli", "--cluster", "create", *(f"127.0.0.1:{port}" for port in self.ports),
                        "--cluster-replicas", "1", "--cluster-yes"], check=True, capture_output=True)
        until(self.is_whole, "for the cluster")

    def is_whole(self):
        infos = [node.ask("cluster", "info") for node in self.nodes]
        return all("cluster_state:ok" in info and "cluster_known_nodes:6" in info for info in infos)

    def ways(self):
        return {"cluster": ["-S", "redis://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)]}

    def trouble(self, rng):
        master = rng.choice(self.masters())

        def has(key):
            return not master.ask("type", key).startswith("MOVED")

        failover = self.failover(rng, master, [4.0, 5.0], concerns=has)
        # The nodes still hear each other elsewhere, so nobody takes its place.
        return rng.choice([failover, failover, wipe(master, concerns=has),
                           *lost_packets(rng, master.port, "packets-lost", "answers-lost", concerns=has)])

    def await_order(self):
        until(self.is_whole, "for the cluster to be whole again")
        until(lambda: len(self.masters()) == 3, "for three masters")


class Quorum(Store):
    """Three servers, of which one at a time may be away, two seldom; a wiped one may hold the vote that mattered."""

    def __init__(self, directory):
        super().__init__(directory)
        self.nodes = [self.add(Redis(f"{directory}/node{n}", port=free_port())) for n in range(3)]

    def ways(self):
        return {"quorum": [word for node in self.nodes for word in ("-S", f"redis://127.0.0.1:{node.port}")]}

    def trouble(self, rng):
        node = rng.choice(self.nodes)
        return rng.choice([
            pause("minority-paused", rng.choice([0.5, 3.0]), [node]),
            pause("majority-paused", 3.0, [each for each in self.nodes if each is not node]),
            Trouble("minority-down", 1.0, node.kill, node.start),
            wipe(node),
            *lost_packets(rng, node.port, "minority-away", "minority-unheard"),
        ])

    def leftovers(self, slots):
        return [key for node in self.nodes for key in companions(node)]


class OnePostgres(Store):
    """One server, direct, through a proxy, and over a network."""

    modes = ("x", "x", "x", "s")
    supersedes = True

    def __init__(self, directory):
        super().__init__(directory)
        self.postgres = self.add(Postgres(f"{directory}/postgres"))
        self.proxy = self.add(Proxy(f"{directory}/proxy", self.postgres.socket, f".s.PGSQL.{self.postgres.port}"))

    def ways(self):
        port = self.postgres.port
        return {"direct": ["-S", f"postgresql:///postgres?host={self.postgres.directory}&port={port}&user=postgres"],
                "proxy": ["-S", f"postgresql:///postgres?host={self.proxy.directory}&port={port}&user=postgres"],
                "tcp": ["-S", f"postgresql://postgres@127.0.0.1:{port}/postgres"]}

    def trouble(self, rng):
        return rng.choice([
            pause("server-paused", rng.choice([0.3, 1.0, 3.0]), [self.postgres]),
            Trouble("restart", 0.2, self.postgres.kill, self.postgres.start),
            Trouble("wipe", 0, lambda: self.postgres.ask("truncate rlock.lock")),
            Trouble("cut", 0, lambda: self.postgres.ask("select pg_terminate_backend(pid) from pg_stat_activity "
                                                        "where application_name = 'rlock'")),
            *on_the_way(rng, self.proxy, "returning 1"),
            *lost_packets(rng, self.postgres.port, "packets-lost", "answers-lost", via="tcp"),
        ])

    def leftovers(self, slots):
        """Rows of memory and of fences, which are over in time."""
        return self.postgres.ask("select encode(key, 'escape') from rlock.lock "
                                 "where ends > now() + interval '8 days'").split()


class Elected(Store):
    """Three servers with a leader, of which any two serve."""

    modes = ("x", "x", "x", "s")
    supersedes = True

    def trouble(self, rng):
        node = rng.choice(self.nodes)
        return rng.choice([
            Trouble("down", 1.0, node.kill, lambda: self.back(node)),
            self.away(node, rng.choice([0.5, 3.0])),
            self.majority_away([each for each in self.nodes if each is not node], 3.0),
            *lost_packets(rng, node.port, "server-cut-off", "server-unheard"),
        ])

    def away(self, node, seconds):
        """All miss the leader, until the others elect another one."""
        kind = self.without_leader("leader-away") if self.leads(node) else "server-away"
        return pause(kind, seconds, [node], self.await_order)

    def majority_away(self, nodes, seconds):
        led = any(self.leads(node) for node in nodes)
        kind = self.without_leader("majority-paused") if led else "majority-paused"
        return pause(kind, seconds, nodes, self.await_order)

    def without_leader(self, kind):
        """The kind of a pause that the leader is part of."""
        return kind

    def back(self, node):
        node.start()
        self.await_order()


class Ensemble(Elected):
    """Three ZooKeeper servers; a session's end is known to all within a tick."""

    def __init__(self, directory):
        super().__init__(directory)
        members = "".join(f"server.{n}=127.0.0.1:{free_port()}:{free_port()}\n" for n in (1, 2, 3))
        self.nodes = [self.add(ZooKeeper(f"{directory}/zk{n}", n, members)) for n in (1, 2, 3)]
        until(self.is_whole, "for the ensemble", 60)
        self.at_first = self.nodes[0].counts()
        self.at_first["zk_znode_count"] += 1  # that all of rlock's are below

    def is_whole(self):
        return sorted(node.mode() for node in self.nodes) == ["follower", "follower", "leader"]

    def ways(self):
        return {"zk": ["-S", "zk://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)]}

    def leads(self, node):
        return node.mode() == "leader"

    def await_order(self):
        """A server that was away believes for a moment that nothing has changed."""
        for _ in range(2):
            time.sleep(0.3)
            until(self.is_whole, "for the ensemble to be whole again", 60)

    def leftovers(self, slots):
        """Those who hold or wait go with their sessions; what is remembered stays: a key's last runs, and each slot."""
        more = {name: count - self.at_first[name] for name, count in self.nodes[0].counts().items()}
        remembered = {"zk_znode_count": KEYS * 2 * MOST_RUNS + slots}
        return [f"{number} of {name}" for name, number in more.items() if number > remembered.get(name, 0)]


class EtcdCluster(Elected):
    """Three members of an etcd cluster."""

    def __init__(self, directory):
        super().__init__(directory)
        ports = [(free_port(), free_port()) for _ in range(3)]
        members = ",".join(f"m{n}=http://127.0.0.1:{peer}" for n, (_, peer) in enumerate(ports))
        self.nodes = [self.add(Etcd(f"{directory}/m{n}", f"m{n}", each, members)) for n, each in enumerate(ports)]
        until(self.is_whole, "for the cluster", 60)
        version = subprocess.run(["etcd", "--version"], capture_output=True, check=True, text=True).stdout
        self.revokes_leases = Etcd.revokes_leases(version)

    def without_leader(self, kind):
        stuck = {"leader-away": "leader-stuck", "majority-paused": "majority-stuck"}
        return stuck[kind] if self.revokes_leases else kind

    def is_whole(self):
        leaders = {node.status()[1] for node in self.nodes}
        return len(leaders) == 1 and leaders.isdisjoint({"0"})

    def ways(self):
        return {"etcd": ["-S", "etcd://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)]}

    def leads(self, node):
        number, leader = node.status()
        return number == leader

    def await_order(self):
        until(self.is_whole, "for the cluster to be whole again", 60)

    def leftovers(self, slots):
        """Keys of holders and waiters go with their leases; runs and slots stay."""
        return self.nodes[0].keys_below("rlock/queue/") + self.nodes[0].keys_below("rlock/stopped/")


class Local(Store):
    """No server and no lease: who is paused keeps the lock."""

    modes = ("x", "x", "x", "s")
    has_leases = False

    def ways(self):
        return {"file": ["-S", f"file:{self.directory}/locks"]}

    def sweep(self, rlock, keys):
        for key in keys:
            subprocess.run([rlock, "-q", *self.ways()["file"], "-k", key, "-w", "10s", "--", "true"], check=True)

    def leftovers(self, slots):
        """Each lock keeps a file with its last fence, and those of its memory; holders and waiters have one each besides."""
        return [f"{where}: {names}" for where, _, names in os.walk(f"{self.directory}/locks")
                if set(names) - {"ledger", "runs", "slots"}]


STORES = {"redis": OneRedis, "sentinel": Sentinels, "cluster": Cluster, "quorum": Quorum,
          "postgres": OnePostgres, "zookeeper": Ensemble, "etcd": EtcdCluster,
          "local": Local}
