"""The contestants: for each its server, a job under a lock without waiting and with, who waits.

All are asked alike: run(key) and wait(key, ttl) are the words before the job, server is the kind of
its server, waiting(key, said) tells how many stand in line (said: the file with their stderr).
"""

import os
import subprocess

from servers import server
from world import DIR, ENV, HERE, RLOCK

TTL = 30
LONG_TTL = 900  # where nothing renews it, it is as long as a job, and the wait for it, may take
PAUSE = "0.1"  # redis-py's default, and what the recipes of the field sleep


def who_said_so(_, said):
    """The clients of ours and rlock say on stderr that they begin to wait, once in a minute."""
    with open(said, errors="replace") as file:
        return sum("waiting for" in line for line in file)


class Flock:
    name, server, ttl = "flock", None, False

    @staticmethod
    def file(key):
        path = f"{DIR}/{key}.lock"
        open(path, "a").close()
        return path

    def run(self, key):
        return ["flock", "-n", self.file(key)]

    def wait(self, key, ttl=TTL):
        return ["flock", self.file(key)]

    def waiting(self, key, _):
        inode = f":{os.stat(self.file(key)).st_ino} "
        with open("/proc/locks") as file:
            return sum("->" in line and inode in line for line in file)


class Setlock(Flock):
    """daemontools': the same system call."""

    name = "setlock"

    def run(self, key):
        return ["setlock", "-n", self.file(key)]

    def wait(self, key, ttl=TTL):
        return ["setlock", self.file(key)]


class Library:
    """A client of ours around a library, or a recipe: address(server) is where it is told to go."""

    ttl, waiting = True, staticmethod(who_said_so)

    def __init__(self, name, kind, address, *program):
        self.name, self.server, self.address, self.program = name, kind, address, program

    def words(self, key, ttl, pause):
        return [*self.program, self.address(server(self.server)), key, str(int(ttl * 1000)), pause]

    def run(self, key):
        return self.words(key, LONG_TTL, "0")

    def wait(self, key, ttl=LONG_TTL):
        return self.words(key, ttl, PAUSE)


class Etcdctl:
    """It has no single attempt: it always waits."""

    name, server, ttl = "etcdctl lock", "etcd", True

    @staticmethod
    def etcdctl(*words):
        return ["etcdctl", "--endpoints", server("etcd").told[0], *words]

    def run(self, key):
        return self.wait(key)

    def wait(self, key, ttl=TTL):
        return self.etcdctl("lock", "--ttl", str(int(ttl)), key, "--")

    def waiting(self, key, _):
        """Everyone has a key below the lock's, the holder too. If etcd is too busy to say, nobody does."""
        keys = subprocess.run(self.etcdctl("get", f"{key}/", "--prefix", "--keys-only"), env=ENV,
                              capture_output=True, text=True, check=False).stdout.split()
        return max(0, len(keys) - 1)


class Rlock:
    waiting = staticmethod(who_said_so)

    def __init__(self, where, kind, urls=lambda told: told, options=(), ttl=True):
        self.name, self.server, self.ttl = f"rlock, {where}", kind, ttl
        self.urls, self.options = urls, options

    def words(self, key, *more):
        told = server(self.server).told if self.server else [f"file://{DIR}/locks"]
        where = [word for url in self.urls(told) for word in ("-S", url)]
        return [RLOCK, *where, "-k", key, *more, "--"]

    def run(self, key):
        return self.words(key)

    def wait(self, key, ttl=TTL):
        return self.words(key, "-t", str(ttl), "-w", "forever", *self.options)


PEERS = [
    Flock(),
    Setlock(),
    Library("bash and redis-cli", "redis", lambda redis: redis.sockets[0], f"{HERE}/clients/lock-with-redis-cli"),
    Library("redis-py", "redis", lambda redis: redis.sockets[0],
            "/usr/bin/python3", "-B", f"{HERE}/clients/lock-with-redis-py"),
    Library("kazoo", "zookeeper", lambda zookeeper: zookeeper.told[0].removeprefix("zk://"),
            "/usr/bin/python3", "-B", f"{HERE}/clients/lock-with-kazoo"),
    Etcdctl(),
    Rlock("Unix socket", "redis", lambda told: told[:1]),
    Rlock("TCP", "redis", lambda told: told[1:]),
    Rlock("TLS", "tls"),
    Rlock("Sentinel", "sentinels"),
    Rlock("Cluster", "cluster"),
    Rlock("quorum of 3", "quorum"),
    Rlock("PostgreSQL", "postgres", lambda told: told[:1]),
    Rlock("ZooKeeper", "zookeeper"),
    Rlock("etcd", "etcd", lambda told: [told[0].replace("http:", "etcd:")]),
    Rlock("--local-gate", "redis", lambda told: told[:1], ("--local-gate",)),
    Rlock("file:", None, ttl=False),
]
