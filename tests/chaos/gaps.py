"""No lost wake: while somebody waits, a lock does not lie idle for long."""

import math

from history import MS

# An idle lock that somebody waits for is taken within
BOUNDS = {
    # a hand-off: some ms; the rest is for busy processors
    "clean": 2_000 * MS,
    # the longest lease here (2 s, in ZooKeeper half as long again and 2 s more), claims of dead waiters (2 s each), a heartbeat (12 s)
    "after a kill": 22_000 * MS,
    # what remains of a gap without the claims of those who died in the queue: as clean
    "places of the dead": 2_000 * MS,
    # as after a kill, counted from the end of the fault: connections and sessions come back first
    "server faults": 25_000 * MS,
}
SERVER_FAULTS = ("server-paused", "restart", "wipe", "failover", "cut", "stall", "delay", "down", "packets-lost",
                 "answers-lost")
# What is past this long ago cannot have delayed anybody any more.
MEMORY = 15_000 * MS
# But for a waiter that was killed: its place outlives it (30 s from the last sign of life), and when the lock comes to
# it, a claim is waited out.
PLACE = 31_000 * MS
CLAIM = 2_000 * MS


def idle_gaps(history, counts):
    longest = dict.fromkeys(BOUNDS, 0)
    broken = []
    for key in history.keys():
        for begin, end in free_times(history.sections(key)):
            for start, stop in waited_through(history, key, begin, end):
                kind, length = judge(history, key, start, stop)
                longest[kind] = max(longest[kind], length)
                if length > BOUNDS[kind]:
                    broken.append(f"{key} lay idle for {length / MS:.0f} ms ({kind}) while somebody waited")
    for kind, length in longest.items():
        counts[f"longest idle while waited for, {kind}"] = f"{length / MS:.0f} ms of {BOUNDS[kind] / MS:.0f}"
    return broken


def free_times(sections):
    """Before the first, between them and after the last: who still waits then, waits for ever."""
    held_until = 0
    for section in sections:
        if section.begin > held_until:
            yield held_until, section.begin
        held_until = max(held_until, section.end)
    yield held_until, math.inf


def waited_through(history, key, begin, end):
    """The parts of a gap in which a healthy process waited, to the end of the gap or its own."""
    for run in history.runs.values():
        if run.key != key or not run.waits or run.end is None or run.begin >= end or run.end <= begin:
            continue
        if run.faults:
            continue
        stop = min(end, run.section.begin if run.section else run.end)
        if stop > max(begin, run.begin):
            yield max(begin, run.begin), stop


def judge(history, key, start, stop):
    """What the gap is to be excused with, and how long it was without the excuse's own time."""
    server = [f for f in history.faults if f.kind in SERVER_FAULTS and f.begin <= stop and f.end >= start - MEMORY]
    if server:
        return "server faults", max(0, stop - max(start, max(min(f.end, stop) for f in server)))
    for run in history.runs.values():
        if run.key == key and any(f.begin <= stop and f.end >= start - MEMORY for f in run.faults):
            return "after a kill", stop - start
    dead = [run for run in history.runs.values()
            if run.key == key and died_waiting(run) and start - PLACE <= run.end < stop]
    if dead:
        return "places of the dead", max(0, stop - start - CLAIM * len(dead))
    return "clean", stop - start


def died_waiting(run):
    return run.waits and run.section is None and run.end is not None and (run.exit_code or 0) < 0
