"""rlock and its peers side by side. Called by `scripts/bench peers`; see --help there.

usage: compare.py [--quick] [--csv FILE] [--most N] [--only SUBJECT,...] [--peers WORD,...]
"""

import argparse
import datetime
import os
import platform
import re
import signal
import subprocess
import sys

from peers import PEERS
from results import Results
from subjects.crash import crash, orphan
from subjects.handoff import handoff, load
from subjects.run import run
from subjects.throughput import throughput
from subjects.waiting import waiting
from world import RLOCK

SUBJECTS = {"run": run, "waiting": waiting, "handoff": handoff, "load": load,
            "throughput": throughput, "takeover": crash, "overlap": orphan}
CROWDED = {"handoff", "load"}


def says(*command):
    out = subprocess.run(command, capture_output=True, text=True).stdout
    return re.search(r"\d+\.[\d.]*\d", out or "?").group(0)


def about(results, words):
    with open("/etc/os-release") as file:
        system = re.search(r'PRETTY_NAME="(.*)"', file.read()).group(1)
    results.about("date", datetime.date.today().isoformat())
    results.about("machine", f"{os.cpu_count()} cores, {system}, {platform.machine()}")
    results.about("load", f"{os.getloadavg()[0]:.1f}")
    results.about("versions", ", ".join([
        f"rlock {says(RLOCK, '--version')}", f"flock {says('flock', '--version')}",
        f"Redis {says('redis-cli', '--version')}", f"etcd {says('etcdctl', 'version')}",
        "redis-py " + says("/usr/bin/python3", "-c", "import redis; print(redis.__version__)"),
        "kazoo " + says("/usr/bin/python3", "-c", "import kazoo.version; print(kazoo.version.__version__)"),
        "daemontools " + says("dpkg-query", "-W", "-f", "${Version}", "daemontools")]))
    results.about("command", " ".join(["scripts/bench peers", *words]))


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench peers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--csv")
    parser.add_argument("--most", type=int)
    parser.add_argument("--only", default=",".join(SUBJECTS))
    parser.add_argument("--peers", default="")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if set(wanted) - set(SUBJECTS):
        sys.exit(f"bench: no such subject; there are: {','.join(SUBJECTS)}")
    # Always: what the ratios are to. The others as they were asked for.
    peers = [peer for peer in PEERS if peer.name in ("flock", "rlock, Unix socket") or
             any(word.lower() in peer.name.lower() for word in options.peers.split(","))]
    for each in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:  # so that who waits is not left behind
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    results = Results()
    about(results, [*(["--quick"] if options.quick else []),
                    *(["--most", str(options.most)] if options.most else [])])
    if CROWDED & set(wanted) and "waiting" not in wanted:
        waiting(peers, Results(), True)
    for name in wanted:
        crowd = {"most": options.most or 2000} if name in CROWDED else {}
        SUBJECTS[name](peers, results, options.quick, **crowd)
        results.rows = [row for row in results.rows if (row.subject, row.peer) != ("about", "load at the end")]
        results.about("load at the end", f"{os.getloadavg()[0]:.1f}")
        if options.csv:
            results.write(options.csv)


if __name__ == "__main__":
    main()
