"""The costs of rlock on etcd next to etcdctl(1), and of a run on ZooKeeper next to flock(1)."""

import statistics
import subprocess

from chain import CROWDS, handoffs, shown
from measure import in_turns, ratios_to_flock
from servers import server
from world import DIR, ENV, RLOCK, row

QUEUE = "rlock/queue/k"  # where the two have their keys, so that they wait alike


def etcdctl(*words):
    return ["etcdctl", "--endpoints", server("etcd").told[0], *words]


def at_etcd(*words):
    return [RLOCK, "-S", server("etcd").told[0].replace("http:", "etcd:"), "-q", "-k", "k", *words, "--"]


def in_line(count):
    """A key for each that holds or waits. A server too busy to say has none."""
    def all_there():
        keys = subprocess.run(etcdctl("get", f"{QUEUE}/", "--prefix", "--keys-only"), env=ENV, capture_output=True,
                              text=True, check=False).stdout.split()
        return len(keys) == count + 1
    return all_there


def a_run():
    subprocess.run([*at_etcd(), "true"], env=ENV, check=True)
    rounds = in_turns(etcdctl("lock", QUEUE, "--", "true"), [*at_etcd(), "true"], ["flock", "-n", f"{DIR}/file", "true"],
                      rounds=150)
    ratio = statistics.median(each[1] / each[0] for each in rounds)
    row("etcd: wall time of a run, to etcdctl lock", f"{ratio:.2f}", "<= 0.6", ratio <= 0.6)
    ratio = statistics.median(each[1] / each[2] for each in rounds)
    row("etcd: wall time of a run, to flock -n", f"{ratio:.1f}", "-", True)


def in_turn():
    for waiters, repeats in CROWDS[:3]:
        ms = handoffs(waiters, repeats, {"etcdctl": (etcdctl("lock", QUEUE, "--"), in_line),
                                         "rlock": (at_etcd("-w", "forever"), in_line)})
        ratio = ms["rlock"] / ms["etcdctl"]
        row(f"etcd: hand-off, {shown(waiters)}, to etcdctl's ({ms['rlock']:.1f} ms)", f"{ratio:.2f}", "<= 1.0", ratio <= 1)


def a_run_on_zookeeper():
    command = [RLOCK, "-S", server("zookeeper").told[0], "-q", "-k", "k", "--", "true"]
    subprocess.run(command, env=ENV, check=True)
    rounds = in_turns(["flock", "-n", f"{DIR}/file", "true"], command, rounds=200)
    ratios_to_flock("zookeeper: wall time of a run", rounds, {"": 3.5})


def etcd_bars():
    a_run()
    in_turn()
    a_run_on_zookeeper()
