"""Shared by all benchmarks: paths, processes, waiting for facts."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RLOCK = os.path.abspath(os.environ["BENCH_RLOCK"])
DIR = os.environ["BENCH_DIR"]  # a temporary one; below it node1, node2 and node3; redis.sock in each
PORT = os.environ["BENCH_PORT"]
SOCKET, STAMP = f"{DIR}/redis.sock", f"{DIR}/stamp"
UNIX, TCP = f"unix://{SOCKET}", f"redis://127.0.0.1:{PORT}"
ENV = {"PATH": os.environ["PATH"], "LOGNAME": "bench", "RLOCK_SERVER": UNIX}


def redis(*words):
    return subprocess.run(["redis-cli", "-s", SOCKET, *words], capture_output=True, text=True,
                          check=True).stdout.strip()


def row(what, seen, bar, met):
    print(f"{what:<66} {seen:>14}   {bar:<12} {'ok' if met else 'MISSED'}", flush=True)


def start(*command, stderr=subprocess.DEVNULL):
    return subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stderr=stderr)


def until(condition, what="a fact", limit=60):
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"bench: gave up waiting for {what}")
        time.sleep(0.01)
