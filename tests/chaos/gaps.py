"""No lost wake: while somebody waits, a lock does not lie idle for long."""

import math

from history import MS

# An idle lock that somebody waits for is taken within
BOUNDS = {
    # a hand-off: some ms; the rest is for busy processors
    "clean": 2_000 * MS,
    # the longest lease here (2 s, in ZooKeeper half as long again and 2 s more), and what a claim is waited for (2 s);
    # a waiter that missed its wake would look for itself after 12 s
    "after a kill": 8_000 * MS,
    # one more of those for each, and as there is nobody to wake the next one, such a look
    "after several kills": 22_000 * MS,
    # what remains of a gap without the claims of those who died in the queue: as clean
    "places of the dead": 2_000 * MS,
    # two thirds of the longest session (4 s), until a waiter looks for another server; the holder before it as well
    "one of the servers away": 8_000 * MS,
    # as after several kills, without the time of the faults: connections and sessions come back first
    "server faults": 25_000 * MS,
}
# Of etcd before 3.4.31 and 3.5.13: a leader that was away takes leases for expired when it goes on. Its requests to revoke
# them reach the new leader, although they are kept alive.
STUCK = ("leader-stuck", "majority-stuck")
SERVER_FAULTS = ("server-paused", "majority-paused", "restart", "wipe", "failover", "cut", "stall", "delay", "lost-reply",
                 "down", "leader-away", "packets-lost", "answers-lost", *STUCK)
# Of an ensemble of three, of whom any two serve.
ONE_AWAY = ("server-away", "server-cut-off", "server-unheard")
# And who had it has found another one long ago.
FOUND = 8_000 * MS
# Of a holder or a waiter; the end of a job, or of a guardian, is noticed at once. A slow starter holds the lock.
DELAYS = ("kill-rlock", "pause-rlock", "pause-tree", "slow-exec")
# An event this long ago cannot have delayed a process.
MEMORY = 15_000 * MS
# But for a waiter that was killed: its place outlives it (30 s from the last sign of life), and when the lock comes to
# it, a claim is waited out.
PLACE = 31_000 * MS
CLAIM = 2_000 * MS


def idle_gaps(history, counts):
    longest, seen = dict.fromkeys(BOUNDS, 0), dict.fromkeys(BOUNDS, 0)
    broken = []
    for key in history.keys():
        for begin, end in free_times(history.sections(key)):
            for run, start, stop in waited_through(history, key, begin, end):
                kind, length = judge(history, run, start, stop)
                seen[kind] += 1
                longest[kind] = max(longest[kind], length)
                if length > BOUNDS[kind]:
                    broken.append(f"{key} lay idle for {length / MS:.0f} ms ({kind}) while somebody waited")
    for kind, length in longest.items():
        counts[f"longest idle while waited for, {kind}"] = (
            f"{length / MS:.0f} ms of {BOUNDS[kind] / MS:.0f}, {seen[kind]} seen")
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
            yield run, max(begin, run.begin), stop


def judge(history, run, start, stop):
    """The excuse for the gap, and the gap's length without the excuse's own time."""
    near = [fault for fault in history.faults if fault.overlaps(start - MEMORY, stop)]
    server = [fault for fault in near if fault.kind in SERVER_FAULTS]
    if any(fault.reaches(run) for fault in server):
        return "server faults", stop - start - covered(server, start, stop)
    others = [other for other in history.runs.values() if other.key == run.key and other is not run]
    hit = {other.name for other in others if any(fault in near and fault.kind in DELAYS for fault in other.faults)}
    # Somebody before us came another way, which did not carry.
    hit |= {other.name for other in others if any(fault.reaches(other) for fault in server)}
    if hit:
        return "after a kill" if len(hit) == 1 else "after several kills", stop - start
    if any(fault.kind in ONE_AWAY and fault.overlaps(start - FOUND, stop) for fault in near):
        return "one of the servers away", stop - start
    dead = [other for other in others if died_waiting(other) and start - PLACE <= other.end < stop]
    if dead:
        return "places of the dead", max(0, stop - start - CLAIM * len(dead))
    return "clean", stop - start


def covered(faults, start, stop):
    """How much of the time there was one of them."""
    total, until = 0, start
    for fault in sorted(faults, key=lambda fault: fault.begin):
        begin, end = max(fault.begin, until), min(fault.end, stop)
        total += max(0, end - begin)
        until = max(until, end)
    return total


def died_waiting(run):
    return run.waits and run.section is None and run.end is not None and (run.exit_code or 0) < 0
