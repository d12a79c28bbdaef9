"""The stores that chaos is made with: their servers, the ways to them, and what may befall them.

A fault is (kind, seconds at most, begin, end): begin() makes it, end() takes it away.
"""

import os
import subprocess

import packets
from servers import Proxy, Redis, Sentinel, ZooKeeper, free_port, until


class Store:
    modes = ("x",)
    has_leases = True

    def __init__(self, directory):
        self.directory = directory
        self.servers = []

    def add(self, server):
        self.servers.append(server)
        return server

    def ways(self):
        """Name to rlock's options."""

    def faults(self, rng):
        """One of them, or None."""
        return None

    def leftovers(self):
        """What the server still has, when nobody is there any more, apart from fences, which end by themselves."""
        return []

    def stop(self):
        for server in reversed(self.servers):
            server.resume()
            server.kill()


def companions(redis):
    return [key for key in redis.ask("keys", "*").split() if not key.endswith(":rlock:fence")]


def wipe(redis):
    return ("wipe", 0, None, lambda: redis.ask("flushall"), lambda: None)


def lost_packets(rng, port, both_ways, one_way, via=None):
    """Two faults, where they are allowed."""
    if not packets.ALLOWED:
        return []
    seconds = rng.choice([0.5, 3.0])
    return [(both_ways, seconds, via, lambda: packets.lose(port), packets.find),
            (one_way, seconds, via, lambda: packets.lose(port, answers_only=True), packets.find)]


class OneRedis(Store):
    """One server that keeps its data on the disk; some of the clients go through a proxy, some over a network."""

    modes = ("x", "x", "x", "s")

    def __init__(self, directory):
        super().__init__(directory)
        self.redis = self.add(Redis(f"{directory}/redis", port=free_port()))
        self.proxy = self.add(Proxy(f"{directory}/proxy", self.redis.path))

    def ways(self):
        return {"direct": ["-S", self.redis.url], "proxy": ["-S", self.proxy.url],
                "tcp": ["-S", f"redis://127.0.0.1:{self.redis.port}"]}

    def faults(self, rng):
        return rng.choice([
            ("server-paused", rng.choice([0.3, 1.0, 3.0]), None, self.redis.pause, self.redis.resume),
            ("restart", 0.2, None, self.redis.kill, self.redis.start),
            wipe(self.redis),
            ("cut", rng.choice([0.1, 1.0, 3.0]), "proxy", lambda: self.proxy.switch("refuse"),
             lambda: self.proxy.switch("pass")),
            ("stall", rng.choice([0.5, 3.0]), "proxy", lambda: self.proxy.switch("stall"),
             lambda: self.proxy.switch("pass")),
            ("delay", 1.0, "proxy", lambda: self.proxy.switch("delay 100"), lambda: self.proxy.switch("pass")),
            ("lost-reply", 1.0, "proxy", lambda: self.proxy.switch("drop-reply EVALSHA"),
             lambda: self.proxy.switch("pass")),
            *lost_packets(rng, self.redis.port, "packets-lost", "answers-lost", via="tcp"),
        ])

    def leftovers(self):
        return companions(self.redis)


class Replicated(Store):
    """Masters whose replicas take their place."""

    def masters(self):
        return [node for node in self.nodes if node.ask("role").splitlines()[:1] == ["master"]]

    def failover(self, rng, master, seconds, *more_ways):
        return ("failover", rng.choice(seconds), None, rng.choice([master.kill, master.pause, *more_ways]),
                lambda: self.back(master))

    def back(self, master):
        if packets.ALLOWED:
            packets.find()
        if master.process.poll() is not None:
            master.start()
        master.resume()
        self.await_order()

    def leftovers(self):
        return [key for master in self.masters() for key in companions(master)]


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

    def faults(self, rng):
        masters = self.masters()
        if len(masters) != 1:
            return None
        master = masters[0]
        cut_off = [lambda: packets.lose(master.port)] if packets.ALLOWED else []
        failover = self.failover(rng, master, [3.0, 4.0], *cut_off)
        return rng.choice([failover, failover, wipe(master)])

    def await_order(self):
        until(lambda: len(self.masters()) == 1, "for one master")


class Cluster(Replicated):
    modes = ("x", "x", "x", "s")

    def __init__(self, directory):
        super().__init__(directory)
        self.ports = [free_port(10000) for _ in range(6)]
        self.nodes = [self.add(Redis(f"{directory}/node{port}", "--cluster-enabled", "yes",
                                     "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0", port=port))
                      for port in self.ports]
        subprocess.run(["redis-cli", "--cluster", "create", *(f"127.0.0.1:{port}" for port in self.ports),
                        "--cluster-replicas", "1", "--cluster-yes"], check=True, capture_output=True)
        until(self.is_whole, "for the cluster")

    def is_whole(self):
        infos = [node.ask("cluster", "info") for node in self.nodes]
        return all("cluster_state:ok" in info and "cluster_known_nodes:6" in info for info in infos)

    def ways(self):
        return {"cluster": ["-S", "redis://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)]}

    def faults(self, rng):
        master = rng.choice(self.masters())
        failover = self.failover(rng, master, [4.0, 5.0])
        # The nodes still hear each other elsewhere, so nobody takes its place.
        return rng.choice([failover, failover, wipe(master),
                           *lost_packets(rng, master.port, "packets-lost", "answers-lost")])

    def await_order(self):
        until(self.is_whole, "for the cluster to be whole again")
        until(lambda: len(self.masters()) == 3, "for three masters")


class Quorum(Store):
    """Three servers, of which one at a time may be away; a wiped one may hold the vote that mattered."""

    def __init__(self, directory):
        super().__init__(directory)
        self.nodes = [self.add(Redis(f"{directory}/node{n}", port=free_port())) for n in range(3)]

    def ways(self):
        return {"quorum": [word for node in self.nodes for word in ("-S", f"redis://127.0.0.1:{node.port}")]}

    def faults(self, rng):
        node = rng.choice(self.nodes)
        return rng.choice([
            ("minority-paused", rng.choice([0.5, 3.0]), None, node.pause, node.resume),
            ("minority-down", 1.0, None, node.kill, node.start),
            wipe(node),
            *lost_packets(rng, node.port, "minority-away", "minority-unheard"),
        ])

    def leftovers(self):
        return [key for node in self.nodes for key in companions(node)]


class Ensemble(Store):
    """Three ZooKeeper servers; a session's end is known to all within a tick."""

    modes = ("x", "x", "x", "s")

    def __init__(self, directory):
        super().__init__(directory)
        members = "".join(f"server.{n}=127.0.0.1:{free_port()}:{free_port()}\n" for n in (1, 2, 3))
        self.nodes = [self.add(ZooKeeper(f"{directory}/zk{n}", n, members)) for n in (1, 2, 3)]
        until(self.is_whole, "for the ensemble", 60)

    def is_whole(self):
        return all(node.mode() for node in self.nodes)

    def ways(self):
        return {"zk": ["-S", "zk://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)]}

    def faults(self, rng):
        node = rng.choice(self.nodes)
        return rng.choice([
            ("down", 1.0, None, node.kill, lambda: self.back(node)),
            ("server-away", rng.choice([0.5, 3.0]), None, node.pause, lambda: self.back(node)),
            *lost_packets(rng, node.port, "server-cut-off", "server-unheard"),
        ])

    def back(self, node):
        if node.process.poll() is not None:
            node.start()
        node.resume()
        until(self.is_whole, "for the ensemble to be whole again", 60)


class Local(Store):
    """No server and no lease: who is paused keeps the lock."""

    modes = ("x", "x", "x", "s")
    has_leases = False

    def ways(self):
        return {"file": ["-S", f"file:{self.directory}/locks"]}

    def leftovers(self):
        """Each lock keeps one file, with its last fence; holders and waiters have one each besides."""
        return [f"{where}: {names}" for where, _, names in os.walk(f"{self.directory}/locks") if len(names) > 1]


STORES = {"redis": OneRedis, "sentinel": Sentinels, "cluster": Cluster, "quorum": Quorum, "zookeeper": Ensemble,
          "local": Local}
