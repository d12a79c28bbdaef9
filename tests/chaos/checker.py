"""Decides from the records of a chaos run alone whether rlock kept its promises.

usage: checker.py RECORDS
Prints what it counted, a line each, then every broken promise; the exit code is 1 if there is one.
"""

import sys

import records
from exits import check_exits
from gaps import idle_gaps
from history import MS, history_of
from memory import check_memory
from overlaps import REACTION, check_fences, check_overlaps
from slots import check_slots

# Nothing, or no answer, comes from the server.
SILENT = ("server-paused", "majority-paused", "majority-stuck", "cut", "stall", "packets-lost", "answers-lost")


def check_resource(history, counts):
    """The resource refused what came too late: else the fence caught nothing."""
    highest = {}
    counts["stale writes refused"] = 0
    for write in history.writes:
        top = highest.get(write.key, 0)
        if write.accepted and write.fence < top:
            yield f"a stale write of {write.run} was accepted"
        if not write.accepted:
            counts["stale writes refused"] += 1
        highest[write.key] = max(top, write.fence)


def check_leases(history, counts):
    """A run that cannot refresh has stopped its job by the time its last refresh could have lasted."""
    counts["jobs stopped in time"] = 0
    for run in history.runs.values():
        if not run.section or not run.ttl:
            continue
        for fault in history.faults:
            if not keeps_from_refreshing(fault, run):
                continue
            end = fault.since + run.ttl * MS
            if frozen(run, end):
                continue  # it could not stop anything
            if run.section.begin < fault.begin and end < fault.end and run.section.end > fault.begin:
                counts["jobs stopped in time"] += 1
                if run.section.end > end:
                    yield (f"{run.name} ran {(run.section.end - end) / MS:.1f} ms past its lease ({fault.kind})")


def keeps_from_refreshing(fault, run):
    if fault.run:
        return fault.run == run.name and fault.kind == "pause-rlock"
    return fault.kind in SILENT and fault.befalls(run)


def frozen(run, moment):
    return any(fault.kind == "pause-tree" and fault.overlaps(moment, moment) for fault in run.faults)


def check_trees(history, _counts):
    """The job is gone when rlock is; if rlock was killed, soon after."""
    for run in history.runs.values():
        if not run.section or run.end is None:
            continue
        late = run.section.end - run.end
        if late > (REACTION if run.exit_code == -9 else 0):
            yield f"the job of {run.name} ran on after the end of rlock, for {late / MS:.0f} ms"


def check(history):
    counts = {"runs": len(history.runs), "faults": len(history.faults)}
    broken = list(history.strays)
    for each in (check_fences, check_overlaps, check_resource, check_leases, check_trees, check_exits, idle_gaps, check_slots,
                 check_memory):
        broken += each(history, counts)
    broken += [f"left behind: {thing}" for thing in history.left_behind]
    return counts, broken


def main():
    counts, broken = check(history_of(records.read(sys.argv[1])))
    for what, count in counts.items():
        print(f"{what}: {count}")
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken or not counts["sections"] else 0


if __name__ == "__main__":
    sys.exit(main())
