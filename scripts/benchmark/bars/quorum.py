"""A run on three servers, one of which is silent: each of them in turn."""

import os
import signal
import statistics
import subprocess

from measure import in_turns
from world import DIR, RLOCK, row, until

ROUNDS = 31


def is_free_at(node):
    """It takes what came while it was stopped; the next run is not to wait for that."""
    asked = subprocess.run(["redis-cli", "-s", f"{node}/redis.sock", "exists", "k"], capture_output=True, text=True)
    return asked.stdout == "0\n"


def quorum():
    nodes = [f"{DIR}/node{number}" for number in (1, 2, 3)]
    command = [RLOCK, *[word for node in nodes for word in ("-S", f"unix://{node}/redis.sock")],
               "-k", "k", "--", "true"]
    healthy, silent = [], [[] for _ in nodes]
    for _ in range(ROUNDS):
        for number, node in enumerate(nodes):
            healthy.append(in_turns(command, rounds=1)[0][0])
            victim = int(open(f"{node}/pid").read())
            os.kill(victim, signal.SIGSTOP)
            try:
                silent[number].append(in_turns(command, rounds=1)[0][0])
            finally:
                os.kill(victim, signal.SIGCONT)
            until(lambda: is_free_at(node))
    usual = 1000 * statistics.median(healthy)
    for number, times in enumerate(silent, 1):
        slow = 1000 * statistics.median(times)
        row(f"quorum: server {number} of three silent, ms to all healthy", f"{slow:.1f} / {usual:.1f}",
            "3.0 x + 5 ms", slow <= 3 * usual + 5)
