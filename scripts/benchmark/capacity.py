"""The load of one server: its processor's time for a run, a hand-off, a waiter and a holder; and what a list of many
locks costs it, the one who asks, and everybody else. Called by scripts/bench capacity. Redis, a quorum and PostgreSQL are
asked over Unix sockets, the others over TCP.

Times of the server's processor are of all its processes, in µs. How many fit into one core is reckoned from them: a core
that is full answers late long before."""

import contextlib
import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time

from chain import chain
from servers import server
from world import ENV, RLOCK, start, until

RUNS = 400
WAITERS = 100
MANY = {"cluster": 1000}  # holders, and waiters, that are watched together, where the servers' own talk drowns a hundred
REST = 60  # s, in which waiters and holders are watched: two refreshes of a ttl of 30 s by thirds, and more

KINDS = {"redis": 1, "cluster": 3, "quorum": 3, "postgres": 1, "zookeeper": 1, "etcd": 1}  # and how many servers


def url(kind):
    told = server(kind).told
    return " ".join(told).replace("http:", "etcd:") if kind in ("quorum", "cluster", "etcd") else told[0]


def rlock(kind, *words):
    return [RLOCK, "-S", url(kind), *words]


class Spent:
    """Of the processor while it is open, without what the idle server takes."""

    def __init__(self, kind, idle=0.0):
        self.kind, self.idle = kind, idle

    def __enter__(self):
        self.begin, self.before = time.monotonic(), server(self.kind).cpu_ns() / 1e3
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.begin
        self.us = server(self.kind).cpu_ns() / 1e3 - self.before - self.idle * self.seconds


def idle(kind):
    """µs a second."""
    with Spent(kind) as spent:
        time.sleep(REST)
    return spent.us / spent.seconds


def in_line(kind, key, count):
    """Whether the lock is held, and so many wait."""
    def all_there():
        command = rlock(kind, "inspect", "--json", key)
        said = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False).stdout
        lock = json.loads(said or "{}")
        return bool(lock.get("holders")) and len(lock["waiters"]) == count
    return all_there


# ---- servers: a run, a hand-off, a waiter, a holder.

def a_run(kind, rest):
    """Runs of free locks, two at a time."""
    def some(name):
        for number in range(RUNS // 2):
            subprocess.run(rlock(kind, "-k", f"{name}{number % 20}", "--", "true"), env=ENV, check=True,
                           stdout=subprocess.DEVNULL)
    some("warm")
    with Spent(kind, rest) as spent:
        threads = [threading.Thread(target=some, args=(name,)) for name in ("a", "b")]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    return spent.us / RUNS


def a_handoff(kind, rest):
    seen = chain(rlock(kind, "-k", "k", "-w", "forever", "--"), WAITERS, in_line(kind, "k", WAITERS),
                 watch=lambda: Spent(kind, rest))
    return seen.watch.us / WAITERS


@contextlib.contextmanager
def holders(kind, count, *options):
    """That many, each on a key of its own unless one is given."""
    own = "-k" not in options
    processes = [start(*rlock(kind, *options, *(["-k", f"own{n}"] if own else []), "--", "sleep", "1000")) for n in range(count)]
    try:
        yield processes
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait()


def a_minute(kind, rest):
    with Spent(kind, rest) as spent:
        time.sleep(REST)
    return spent.us * 60 / spent.seconds


def a_holder(kind, rest):
    """Refreshes, in a minute."""
    many = MANY.get(kind, 100)
    with holders(kind, many):
        until(lambda: all(in_line(kind, f"own{n}", 0)() for n in range(many)), limit=300)
        time.sleep(2)
        return a_minute(kind, rest) / many


def a_waiter(kind, rest):
    """Heartbeats, in a minute: of those in one queue, without the holder."""
    with holders(kind, 1, "-k", "queue"):
        time.sleep(2)
        alone = a_minute(kind, rest)
        many = MANY.get(kind, 100)
        with holders(kind, many, "-k", "queue", "-w", "forever"):
            until(in_line(kind, "queue", many), limit=300)
            time.sleep(2)
            return (a_minute(kind, rest) - alone) / many


def memory_of_redis():
    """In bytes, keys and connections together."""
    command = ["redis-cli", "-s", server("redis").sockets[0], "info", "memory"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"used_memory:(\d+)", said).group(1))


def waiters_memory(count=1000):
    with holders("redis", 1, "-k", "queue"):
        time.sleep(2)
        before = memory_of_redis()
        with holders("redis", count, "-k", "queue", "-w", "forever"):
            until(in_line("redis", "queue", count), limit=300)
            time.sleep(2)
            return (memory_of_redis() - before) / count


def servers(kinds):
    print(f"{'µs of the servers’ processor':<28} {'a run':>8} {'runs/s,':>9} {'a hand-off':>11} {'a holder':>9} {'a waiter':>9}")
    print(f"{'':<28} {'':>8} {'core each':>9} {f'of {WAITERS}':>11} {'a minute':>9} {'a minute':>9}", flush=True)
    for kind in kinds:
        number = KINDS[kind]
        subprocess.run(rlock(kind, "-k", "first", "--", "true"), env=ENV, check=True)
        rest = idle(kind)
        run, handoff, holder, waiter = (each(kind, rest) for each in (a_run, a_handoff, a_holder, a_waiter))
        name = kind if number == 1 else f"{kind}, {number} together"
        print(f"{name:<28} {run:>8.0f} {1e6 * number / run:>9.0f} {handoff:>11.0f} {holder:>9.0f} {waiter:>9.0f}", flush=True)
    if "redis" in kinds:
        print(f"a waiter, of Redis' memory: {waiters_memory():,.0f} bytes", flush=True)


# ---- lists: of many locks, of three keys each; and of some with many waiters.

LOCKS = 100_000
FILL = """
local ours = {'template', '{template}:rlock:fence', '{template}:rlock:runs'}
for i, key in ipairs(ours) do ours[i] = redis.call('DUMP', key) end
for n = ARGV[1], ARGV[2] do
  local key = 'lock:' .. n
  for i, each in ipairs({key, '{' .. key .. '}:rlock:fence', '{' .. key .. '}:rlock:runs'}) do
    redis.call('RESTORE', each, 3600000, ours[i])
  end
end
"""


def fill(path):
    """With copies of a lock that is held and has been held before, three keys each."""
    subprocess.run(rlock("redis", "-k", "template", "--", "true"), env=ENV, check=True)
    with holders("redis", 1, "-k", "template"):
        until(in_line("redis", "template", 0))
        for first in range(1, LOCKS, 1000):
            subprocess.run(["redis-cli", "-s", path, "eval", FILL, "0", str(first), str(first + 999)], check=True,
                           stdout=subprocess.DEVNULL)


class Others:
    """Someone else, who asks the server each ms: ms for each answer."""

    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.times, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.ask)

    def ask(self):
        while not self.over.is_set():
            begin = time.perf_counter()
            self.connection.sendall(b"PING\r\n")
            self.connection.recv(100)
            self.times.append((time.perf_counter() - begin) * 1e3)
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def said(self):
        times = sorted(self.times)
        return f"{statistics.median(times):6.2f} {times[len(times) * 99 // 100]:6.2f} {times[-1]:6.2f}"


def peak_mb_and_seconds(command):
    """In a child of its own: the peak of all children that have ended is theirs together."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as null:
        pid = os.posix_spawnp(command[0], command, ENV, file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 1)])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, (command, status)
    return usage.ru_maxrss / 1024, time.monotonic() - begin


# A lock that is held, with so many waiters that are no processes.
CROWDED, CROWD_SIZE = 32, 1000
CROWD = """
local time = redis.call('TIME')[1] * 1000
local key = 'crowd' .. ARGV[1]
redis.call('SET', key, 'user@host:1/job#' .. string.rep('0', 40), 'PX', 600000)
for n = 1, ARGV[2] do
  local id = 'user@host:' .. n .. '/job#' .. string.format('%040d', n)
  redis.call('ZADD', '{' .. key .. '}:rlock:queue', time * 1000 + n, id)
  redis.call('ZADD', '{' .. key .. '}:rlock:alive', time + 600000, id)
end
"""


def list_row(path, words, what=None):
    with Others(path) as others, Spent("redis") as spent:
        peak, seconds = peak_mb_and_seconds(rlock("redis", *words))
    print(f"{what or ' '.join(words):<34} {seconds:>6.1f} {peak:>6.0f} {spent.us / 1e6:>10.1f}   {others.said()}", flush=True)


def lists():
    path = server("redis").sockets[0]
    before = memory_of_redis()
    fill(path)
    each = (memory_of_redis() - before) / LOCKS
    print(f"\n{LOCKS:,} locks of one Redis, each with three keys and {each:,.0f} bytes of its memory")
    print(f"{'':<34} {'s':>6} {'MB':>6} {'server, s':>10}   another client's answers in ms: median, 99 %, worst")
    with Others(path) as others:
        time.sleep(5)
    print(f"{'nobody lists':<34} {'':>6} {'':>6} {'':>10}   {others.said()}", flush=True)
    for words in ["list"], ["list", "--json"], ["log", "-n", "1", "lock:*"], ["metrics"]:
        list_row(path, words)
    subprocess.run(["redis-cli", "-s", path, "flushall"], check=True, stdout=subprocess.DEVNULL)
    for number in range(CROWDED):
        subprocess.run(["redis-cli", "-s", path, "eval", CROWD, "0", str(number), str(CROWD_SIZE)], check=True, stdout=subprocess.DEVNULL)
    list_row(path, ["list"], f"list, {CROWD_SIZE:,} wait for each of {CROWDED}")


# ---- the command

words = sys.argv[1:]
chosen = [kind for kind in KINDS if kind in words]
if unknown := [word for word in words if word not in ("servers", "lists", *KINDS)]:
    sys.exit(f"bench: capacity has no part {unknown[0]!r}; it has servers, lists, and of the servers {' '.join(KINDS)}")
resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
if not words or "servers" in words or chosen:
    servers(chosen or list(KINDS))
if not words or "lists" in words:
    lists()
