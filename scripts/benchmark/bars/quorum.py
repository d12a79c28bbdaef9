"""A run on three servers, one of which is silent."""

import os
import signal
import statistics
import subprocess

from measure import in_turns
from world import DIR, RLOCK, row, until


def quorum():
    """One of three servers is stopped for every second run."""
    nodes = [f"{DIR}/node{number}" for number in (1, 2, 3)]
    victim = int(open(f"{nodes[2]}/pid").read())
    command = [RLOCK, *[word for node in nodes for word in ("-S", f"unix://{node}/redis.sock")],
               "-k", "k", "--", "true"]
    ratios = []
    for _ in range(100):
        healthy = in_turns(command, rounds=1)[0][0]
        os.kill(victim, signal.SIGSTOP)
        ratios.append(in_turns(command, rounds=1)[0][0] / healthy)
        os.kill(victim, signal.SIGCONT)
        # It takes what came meanwhile; the next run is not to wait for that.
        until(lambda: subprocess.run(["redis-cli", "-s", f"{nodes[2]}/redis.sock", "exists", "k"],
                                     capture_output=True, text=True).stdout == "0\n")
    ratio = statistics.median(ratios)
    row("quorum: one of three silent, to all three healthy", f"{ratio:.2f}", "<= 1.5", ratio <= 1.5)
