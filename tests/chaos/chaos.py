"""Dozens of rlock processes, a few keys, and a nemesis. usage: chaos.py RLOCK JOB DIRECTORY STORE SEED SECONDS"""

import os
import random
import sys
import time

import checker
import records
from clients import PATIENCE, Crowd
from history import history_of
from memory import Looks
from nemesis import Nemesis
from stores import KEYS, STORES

SIZE = 24


def processes_of(directory):
    """The processes that still have our mark in their environment."""
    mark = f"CHAOS={directory}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                marked = mark in file.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().replace("\0", " ")
        except OSError:
            continue
        if marked:
            found.append(f"{pid} {words}")
    return found


def look_for_leftovers(directory, store, crowd, recorder):
    """The dead leave nothing behind for longer than their lease or place in the queue lasts."""
    deadline = time.monotonic() + 75  # a dead waiter's entry: grace of 30 s, kept for twice as long
    while store.leftovers(len(crowd.slots)) and time.monotonic() < deadline:
        time.sleep(0.2)
    files = set(os.listdir(f"{directory}/status")) - crowd.names()
    for thing in [*store.leftovers(len(crowd.slots)), *(f"the file {name}" for name in files)]:
        recorder.write("left", thing=thing)
    mine = [f"{os.getpid()} "] + [f"{server.process.pid} " for server in store.servers]
    for process in processes_of(directory):
        if not process.startswith(tuple(mine)):
            recorder.write("left", thing=f"process {process}")


def main():
    rlock, job, directory, kind, seed, seconds = sys.argv[1:]
    rng = random.Random(f"{kind} {seed}")
    # Only what comes from here counts, and all that does bears a mark.
    os.environ.update(CHAOS=directory, LOGNAME="chaos")
    recorder = records.Recorder(f"{directory}/records")
    store = STORES[kind](f"{directory}/{kind}")
    os.makedirs(f"{directory}/{kind}", exist_ok=True)
    crowd = Crowd(rlock, job, directory, store, recorder, rng, SIZE, KEYS)
    nemesis = Nemesis(crowd, store, recorder, rng)
    looks = Looks(crowd) if crowd.remembers else None
    try:
        crowd.start()
        nemesis.start()
        if looks:
            looks.start()
        time.sleep(float(seconds))
        nemesis.stop()
        crowd.stop()
        ended = crowd.wait(PATIENCE + 30)
        if looks:
            looks.stop()
        store.sweep(rlock, crowd.keys)
        look_for_leftovers(directory, store, crowd, recorder)
        counts, broken = checker.check(history_of(records.read(recorder.path)))
        broken += nemesis.failures
        broken += [f"a server is gone: {server.directory}" for server in store.servers if server.process.poll() is not None]
        nemesis.counts["slow-exec"] = crowd.hanging
        for what, count in sorted(nemesis.counts.items()):
            print(f"# {kind}: {what}: {count}")
        for what, count in counts.items():
            print(f"# {kind}: {what}: {count}")
        for line in broken:
            print(f"# {kind}: BROKEN: {line}")
        return 0 if ended and not broken and counts["sections"] else 1
    finally:
        for client in crowd.clients():
            client.process.kill()
        store.stop()


if __name__ == "__main__":
    sys.exit(main())
