"""Several servers: a run, a hand-off, what one sends that waits; and runs while servers are silent."""

import itertools
import os
import signal
import statistics
import subprocess
import time

from bars.handoff import chain, flock_waiting
from measure import in_turns
from world import DIR, RLOCK, row, start, until

ROUNDS = 31
NODES = [f"{DIR}/node{number}" for number in range(1, 6)]


def words(nodes):
    return [RLOCK, *[word for node in nodes for word in ("-S", f"unix://{node}/redis.sock")], "-q", "-k", "k"]


def asked(node, *command):
    return subprocess.run(["redis-cli", "-s", f"{node}/redis.sock", *command], capture_output=True, text=True).stdout


def is_free_at(node):
    """It takes what came while it was stopped; the next run is not to wait for that."""
    return asked(node, "exists", "k") == "0\n"


def run_and_handoff():
    three = NODES[:3]
    rounds = in_turns(["flock", "-n", f"{DIR}/file", "true"], [*words(three), "--", "true"])
    ratio = statistics.median(each[1] / each[0] for each in rounds)
    row("quorum of 3: wall time of a run, to flock -n", f"{ratio:.2f}", "<= 1.8", ratio <= 1.8)
    open(f"{DIR}/file", "a").close()

    def in_line(count):
        return lambda: all(asked(node, "zcard", "{k}:rlock:queue") == f"{count}\n" for node in three)
    for waiters, repeats in (2, 20), (10, 5), (100, 2), (500, 1):
        ours, flock = [], []
        for _ in range(repeats):
            flock += chain(["flock", f"{DIR}/file"], waiters, flock_waiting(waiters))[0]
            ours += chain([*words(three), "-w", "forever", "--"], waiters, in_line(waiters))[0]
        ratio = statistics.median(ours) / statistics.median(flock)
        row(f"quorum of 3: hand-off, {waiters if waiters > 2 else 1} waiting, to flock's", f"{ratio:.2f}", "<= 3", ratio <= 3)


def commands_of_a_waiter(seconds=30):
    three = NODES[:3]
    holder = start(*words(three), "-t", "1h", "--", "sleep", "1000")
    until(lambda: not any(is_free_at(node) for node in three))
    waiter = start(*words(three), "-w", "forever", "--", "true")
    until(lambda: all(asked(node, "zcard", "{k}:rlock:queue") == "1\n" for node in three))
    time.sleep(1)

    def heard():
        lines = "".join(asked(node, "info", "commandstats") for node in three).splitlines()
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines
                   if line.startswith(("cmdstat_eval", "cmdstat_blpop")))
    before = heard()
    time.sleep(seconds)
    rate = (heard() - before) / seconds
    row("quorum of 3: commands a second of one that waits, on all", f"{rate:.2f}", "<= 1", rate <= 1)
    for each in waiter, holder:
        each.send_signal(signal.SIGTERM)
        each.wait()
    until(lambda: all(is_free_at(node) for node in three))


def silence(nodes, victims):
    """A run while the victims are silent, and while all are healthy, in ms."""
    command = [*words(nodes), "--", "true"]
    healthy = in_turns(command, rounds=1)[0][0]
    pids = [int(open(f"{node}/pid").read()) for node in victims]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        silent = in_turns(command, rounds=1)[0][0]
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    until(lambda: all(is_free_at(node) for node in nodes))
    return 1000 * silent, 1000 * healthy


def silent_servers(nodes, count):
    sets = list(itertools.combinations(nodes, count))
    seen = {victims: [] for victims in sets}
    for _ in range(max(5, ROUNDS // len(sets))):
        for victims in sets:
            seen[victims].append(silence(nodes, victims))
    usual = statistics.median(healthy for times in seen.values() for _, healthy in times)
    slow = max(statistics.median(silent for silent, _ in times) for times in seen.values())
    row(f"quorum of {len(nodes)}: any {count} silent, the worst, ms to all healthy", f"{slow:.1f} / {usual:.1f}",
        "3.0 x + 5 ms", slow <= 3 * usual + 5)


def quorum():
    run_and_handoff()
    commands_of_a_waiter()
    silent_servers(NODES[:3], 1)
    silent_servers(NODES, 1)
    silent_servers(NODES, 2)
