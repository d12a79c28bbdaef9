"""Mutual exclusion: what ran at the same time though it must not, and what excuses it."""

from dataclasses import dataclass

from gaps import STUCK
from history import MS, SECOND, Section

# The time that a process needs to act, when dozens of others want the same two processors.
REACTION = SECOND
# From the grant to the job's first word: the grant may have come before a fault, the word after.
START = 1500 * MS
# So long after the pause of a leader, its requests to revoke leases may still arrive.
REVOKING = 12 * SECOND


@dataclass
class Excuse:
    """The excuse, if no lock with a lease can prevent it (README, "What it does not promise"), and the order of the two
    grants."""

    kind: str
    earlier: Section
    later: Section
    two_masters: bool = False


def overlaps(history):
    """Pairs of sections of one key that ran at the same time, the earlier first, though they must not."""
    for key in history.keys():
        sections = history.sections(key)
        for index, first in enumerate(sections):
            for second in sections[index + 1:]:
                if second.begin < first.end and "x" in (first.mode, second.mode):
                    yield first, second


def excuses_for(history, first, second):
    run = history.runs[first.run]
    if not run.ttl:
        return  # without a lease there is nothing that could end too early
    for fault in sorted(history.faults, key=lambda fault: fault.run is None):
        if fault.kind == "pause-tree":
            if fault.run == first.run and froze_holder(history, fault, run, second):
                yield Excuse(fault.kind, first, second)
            if fault.run == second.run and woke_late(fault, second):
                yield Excuse(fault.kind, second, first)
        if fault.kind == "wipe" and fault.befalls(run) and forgot(fault, run, second):
            yield Excuse(fault.kind, first, second)
        if fault.kind == "failover" and fault.befalls(run) and (
                forgot(fault, run, second) or misled(fault, history.runs[second.run])):
            yield Excuse(fault.kind, first, second, two_masters=True)
        if fault.kind in STUCK and fault.befalls(run) and revoked(fault, run, second):
            yield Excuse(fault.kind, first, second)


def froze_holder(history, fault, run, second):
    """Frozen for longer than the lease could last, and no longer there than it takes to hear of it."""
    # Half of the lease is left at least, if the server answered until then.
    silence = any(f.run is None and f.overlaps(fault.begin - run.ttl * MS, fault.begin) for f in history.faults)
    left = 0 if silence else run.ttl * MS // 2
    return (run.section.begin - START <= fault.end and fault.begin + left <= second.begin
            and run.section.end <= fault.end + REACTION)


def woke_late(fault, section):
    """Frozen between the grant and the job's first word, which came when the lock had passed on."""
    return fault.begin <= section.begin <= section.end <= fault.end + REACTION


def forgot(fault, run, second):
    """The server did; who held hears of it with the next refresh."""
    return (run.section.begin - START <= fault.end and fault.begin <= second.begin
            and run.section.end <= heard_by(fault, run))


def revoked(fault, run, second):
    """The stuck leader knew the first one's lease, and revoked it late. The holder hears of that at once."""
    return (run.begin <= fault.since <= second.begin <= fault.end + REVOKING
            and run.section.end <= second.begin + REACTION and run.section.fence < second.fence)


def misled(fault, run):
    """By the old master, which it found before the others did; the new one tells it with the next refresh."""
    return fault.begin <= run.section.begin and run.section.end <= heard_by(fault, run)


def heard_by(fault, run):
    """When its next refresh has told it; a run that is frozen before that hears of it once it goes on."""
    latest = fault.end + run.ttl * MS
    frozen = (other.end for other in run.faults if other.kind == "pause-tree" and other.overlaps(fault.begin, latest))
    return max([latest, *(end + REACTION for end in frozen)])


def caught(excuse):
    """Whether a resource can tell the two apart. Two masters may give locks at a time: their order is that of the
    grants, which need not be that of the jobs' first words."""
    earlier, later = excuse.earlier, excuse.later
    if excuse.two_masters and abs(later.begin - earlier.begin) < START:
        return earlier.fence != later.fence
    return earlier.fence < later.fence


def check_overlaps(history, counts):
    counts["overlaps inside validity"] = counts["overlaps excused"] = 0
    for first, second in overlaps(history):
        pair = f"{first.run} and {second.run} overlap on {first.key}"
        excuses = list(excuses_for(history, first, second))
        if not excuses:
            counts["overlaps inside validity"] += 1
            yield f"{pair}, {(first.end - second.begin) / MS:.1f} ms, and nothing excuses it"
            continue
        # Of several, one that fits the fences: who was stopped may have been granted first, or last.
        excuse = next(filter(caught, excuses), excuses[0])
        counts["overlaps excused"] += 1
        counts[f"  by {excuse.kind}"] = counts.get(f"  by {excuse.kind}", 0) + 1
        if first.mode == second.mode == "x" and not caught(excuse):
            yield f"{pair} ({excuse.kind}) with fences that do not catch it: {first.fence}, {second.fence}"


def check_fences(history, counts):
    """Each is higher than all that were over before; readers are in no order among themselves. Those that overlap are
    looked at one by one."""
    counts["sections"] = 0
    for key in history.keys():
        sections = history.sections(key)
        for section in sections:
            counts["sections"] += 1
            if section.fence <= 0:
                yield f"{section.run} has no fence"
            if any(fault.kind == "pause-tree" and woke_late(fault, section) for fault in history.runs[section.run].faults):
                continue
            before = [other for other in sections if other.end <= section.begin and "x" in (other.mode, section.mode)
                      and other is not section]
            top = max(before, key=lambda other: other.fence, default=None)
            if top and section.fence <= top.fence:
                yield f"the fence of {key} does not grow: {top.fence} ({top.run}), {section.fence} ({section.run})"
