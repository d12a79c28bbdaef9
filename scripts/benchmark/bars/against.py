"""Another rlock next to this one: whether a change made a run slower, to 3 %. Both are to be linked in the same way."""

import os

from measure import ratios
from world import DIR, RLOCK, TCP, UNIX, redis, row

ROUNDS = 200  # 600 runs of each


def against():
    redis("set", "busy", "somebody")
    ways = {"a run over a Unix socket": ["-S", UNIX, "-k", "k", "--", "true"],
            "a run over TCP loopback": ["-S", TCP, "-k", "k", "--", "true"],
            "turned away by a busy lock": ["-q", "-S", UNIX, "-E", "0", "-k", "busy", "--", "true"],
            "a run in a directory": ["-S", f"file:{DIR}/locks", "-k", "k", "--", "true"]}
    seen = ratios(RLOCK, os.environ["BENCH_AGAINST"], ways.values(), ROUNDS)
    for way, ratio in zip(ways, seen):
        row(f"against: {way}, to the other's", f"{ratio:.3f}", "<= 1.030", ratio <= 1.03)
