"""Decides from the records of a chaos run alone whether rlock kept its promises.

usage: checker.py RECORDS
Prints what it counted, a line each, then every broken promise; the exit code is 1 if there is one.
"""

import sys

import records
from gaps import SERVER_FAULTS, idle_gaps
from history import MS, history_of

# What a process needs to act on what it knows, when dozens of others want the same two processors.
REACTION = 1000 * MS
# From the grant to the job's first word: the grant may have come before a fault, the word after.
START = 1500 * MS
# A machine that was paused, data that were lost: what no lock with a lease can help (README, "What it does not promise").
EXCUSES = ("pause-tree", "wipe", "failover")
NETWORK_FAULTS = ("cut", "stall", "packets-lost", "answers-lost")  # nothing, or no answer, comes that way


def overlaps(history):
    """Pairs of sections of one key that ran at the same time, the earlier first, though they must not."""
    for key in history.keys():
        sections = history.sections(key)
        for index, first in enumerate(sections):
            for second in sections[index + 1:]:
                if second.begin < first.end and "x" in (first.mode, second.mode):
                    yield first, second


def excuse_for(history, first, second):
    for fault in sorted(history.faults, key=lambda fault: fault.run is None):
        if fault.kind not in EXCUSES or fault.run not in (None, first.run):
            continue
        if first.begin - START <= fault.end and fault.begin <= second.begin:
            return fault.kind
    return None


def check_overlaps(history, counts):
    counts["overlaps inside validity"] = counts["overlaps excused"] = 0
    for first, second in overlaps(history):
        pair = f"{first.run} and {second.run} overlap on {first.key}"
        excuse = excuse_for(history, first, second)
        if not excuse:
            counts["overlaps inside validity"] += 1
            yield f"{pair}, {(first.end - second.begin) / MS:.1f} ms, and nothing excuses it"
            continue
        counts["overlaps excused"] += 1
        counts[f"  by {excuse}"] = counts.get(f"  by {excuse}", 0) + 1
        if first.mode == second.mode == "x" and not caught(first, second, excuse):
            yield f"{pair} ({excuse}) with fences that do not catch it: {first.fence}, {second.fence}"


def caught(first, second, excuse):
    """Whether a resource can tell the two apart. After a failover two masters may give locks at a time: their order is
    that of the grants, which need not be that of the jobs' first words."""
    return first.fence < second.fence or (excuse == "failover" and first.fence != second.fence)


def check_fences(history, counts):
    """Each is higher than that of every writer before; readers of one time are in no order. Those that overlap are
    looked at one by one."""
    counts["sections"] = 0
    for key in history.keys():
        writer = None
        for section in history.sections(key):
            counts["sections"] += 1
            if section.fence <= 0:
                yield f"{section.run} has no fence"
            if writer and section.fence <= writer.fence and section.begin >= writer.end:
                yield (f"the fence of {key} does not grow: {writer.fence} ({writer.run}), "
                       f"{section.fence} ({section.run})")
            if section.mode == "x":
                writer = section


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
            end = fault.begin + run.ttl * MS
            if run.section.begin < fault.begin and end < fault.end and run.section.end > fault.begin:
                counts["jobs stopped in time"] += 1
                if run.section.end > end:
                    yield (f"{run.name} ran {(run.section.end - end) / MS:.1f} ms past its lease ({fault.kind})")
    for run in history.runs.values():
        for fault in run.faults:
            if fault.kind == "kill-rlock" and run.section and run.section.end > fault.begin + REACTION:
                yield f"{run.name} ran on after rlock was killed, for {(run.section.end - fault.begin) / MS:.0f} ms"


def keeps_from_refreshing(fault, run):
    if fault.run:
        return fault.run == run.name and fault.kind == "pause-rlock"
    return fault.kind == "server-paused" or (fault.kind in NETWORK_FAULTS and fault.via == run.via)


def check_exits(history, counts):
    for run in history.runs.values():
        if run.end is None:
            yield f"{run.name} never ended"
            continue
        counts[f"exit {run.exit_code}"] = counts.get(f"exit {run.exit_code}", 0) + 1
        for lie in lies_of(history, run):
            yield f"{run.name}, exit {run.exit_code}, status {run.status}: {lie}"


def speaks_for_silence(fault, run):
    """Whether it can have kept the server from answering the run."""
    return (fault.kind in SERVER_FAULTS and fault.via in (None, run.via)
            and fault.begin <= run.end and run.begin <= fault.end)


def lies_of(history, run):
    code, section, kinds = run.exit_code, run.section, [fault.kind for fault in run.faults]
    killed = "kill-rlock" in kinds
    if code == -9:
        return [] if killed else ["nobody killed it"]
    lies = []
    if not run.status or run.status["exit_code"] != code:
        lies.append("the status file says something else")
    outcome = (run.status or {}).get("outcome")
    if code == 137:
        if not {"kill-job", "kill-guardian"} & set(kinds):
            lies.append("nobody killed its job")
    elif code == 76:
        if outcome not in ("lost", "stopped"):
            lies.append(f"76, but {outcome}")
    elif code in (75, 69):
        if section:
            lies.append("its job did run")
        if code == 75 and run.end - run.begin < run.waits * 1000 * MS:
            lies.append("it gave up early")
        if code == 69 and not any(speaks_for_silence(fault, run) for fault in history.faults):
            lies.append("nothing was in the server's way")
    elif not section or section.code != code:
        lies.append("its job did not end so")
    if section and section.code == code and outcome != "ran":
        lies.append("its job ended by itself")
    return lies


def check(history):
    counts = {"runs": len(history.runs), "faults": len(history.faults)}
    broken = list(history.strays)
    for each in (check_fences, check_overlaps, check_resource, check_leases, check_exits, idle_gaps):
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
