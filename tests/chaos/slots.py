"""Slots: each done once, by any run; none missed; attempts counted."""

from history import MS, SECOND
from exits import exit_code_of
from gaps import SERVER_FAULTS
from overlaps import START

# A slot that a server lost, or a replica never received.
FORGETTING = ("wipe", "failover", "down", "restart", "minority-down")
PAUSES = ("pause-tree", "pause-rlock")


def check_slots(history, counts):
    counts["slots"] = counts["slots done"] = counts["slots found done"] = counts["slots run again, excused"] = 0
    counts["further attempts for a slot"] = 0
    groups = {}
    for run in history.runs.values():
        if run.slot:
            groups.setdefault((run.key, run.slot), []).append(run)
    for (key, slot), runs in groups.items():
        counts["slots"] += 1
        name = f"slot {slot} of {key}"
        ran = sorted((run for run in runs if run.section), key=lambda run: run.section.fence)
        yield from run_again(history, counts, name, ran)
        yield from found_done(history, counts, name, runs)
        yield from attempts(history, counts, name, ran)
        yield from missed(history, name, runs)


def ended(run):
    """Its job ended by itself, perhaps before its first word, and rlock lived to say so."""
    return run.end is not None and (run.status or {}).get("outcome") == "ran"


def was_told_to_end(run):
    return any(fault.kind == "time-out" for fault in run.faults)


def ends_of(ran):
    """Those after which the slot is done, whatever became of runs of which nobody knows how they ended."""
    failures = 0
    for run in ran:
        if not ended(run):
            continue
        if run.exit_code == 0:
            yield run
        elif not was_told_to_end(run):  # who was may leave it to another
            failures += 1
            if failures > run.retries:
                yield run


def run_again(history, counts, name, ran):
    """At most one good end for each slot, but for what no lock can help."""
    done = list(ends_of(ran))
    counts["slots done"] += bool(done)
    for run in done:
        later = [other for other in ran if other.section.fence > run.section.fence and other.section.begin > run.section.end]
        for other in later:
            if any(excuses(fault, each, other) for fault in history.faults for each in counted(ran, run)):
                counts["slots run again, excused"] += 1
            else:
                yield f"{other.name} ran for {name}, which {run.name} had done {(other.section.begin - run.section.end) / MS:.0f} ms before"


def counted(ran, run):
    """Those whose ends made the slot done: of one that failed too often, the failures before it as well."""
    if run.exit_code == 0:
        return [run]
    return [each for each in ran if ended(each) and each.exit_code != 0 and each.section.fence <= run.section.fence]


def excuses(fault, run, other):
    """The release was not heard, or forgotten."""
    if fault.run == run.name:
        return fault.kind in PAUSES and fault.overlaps(run.section.begin, run.end)
    if fault.run is not None:
        return False
    unheard = fault.reaches(run) and fault.kind in SERVER_FAULTS and fault.overlaps(run.section.end - SECOND, run.end + SECOND)
    return unheard or forgotten([fault], run, run.section.begin, other.section.begin)


def forgotten(faults, run, begin, end):
    return any(fault.kind in FORGETTING and fault.befalls(run) and fault.overlaps(begin - START, end) for fault in faults)


def found_done(history, counts, name, runs):
    """A run that did nothing reports one that did end so; and all that share a slot report the same one."""
    by_token = {run.section.token if run.section else run.status["token"]: run for run in runs
                if run.section or ended(run)}
    told = {}
    for run in runs:
        done = run.found_done()
        if not done:
            continue
        counts["slots found done"] += 1
        other = by_token.get(done["token"])
        if other is None:
            yield f"{run.name} found {name} done by nobody: {done['token']}"
            continue
        code = exit_code_of(done)
        killed = code >= 128 and any(fault.kind in ("kill-job", "kill-guardian", "time-out") for fault in other.faults)
        if not killed and (other.section is None or other.section.code != code):
            yield (f"{run.name} found {name} done with {code} by {other.name}, whose job "
                   f"ended with {other.section.code if other.section else 'nothing'}")
        if other.section and other.section.fence != done["fence"]:
            yield f"{run.name} found {name} done by {other.name}, and names another grant: {done['fence']}"
        if other.section and other.section.begin > run.end:
            yield f"{run.name} found {name} done by {other.name}, which had not begun"
        if run.shares and other.section:
            told.setdefault(code, other)
    for code, other in list(told.items())[1:]:
        first_code, first = next(iter(told.items()))
        earlier, later = sorted((first, other), key=lambda each: each.section.fence)
        overlap = later.section.begin <= earlier.section.end  # looked at by itself
        if not overlap and not any(excuses(fault, earlier, later) for fault in history.faults):
            yield f"those who share {name} were told of {first_code} by {first.name} and of {code} by {other.name}"


def attempts(history, counts, name, ran):
    """They grow with the fences."""
    for before, after in zip(ran, ran[1:]):
        first, second = before.section, after.section
        if first.attempt is None or second.attempt is None:
            yield f"{before.name if first.attempt is None else after.name} was told no attempt for {name}"
        elif second.attempt <= first.attempt and not forgotten(history.faults, before, min(first.begin, second.begin),
                                                               max(first.begin, second.begin)):
            yield f"the attempts for {name} do not grow: {first.attempt} ({before.name}), {second.attempt} ({after.name})"
        elif second.attempt > first.attempt:
            counts["further attempts for a slot"] += 1


def missed(history, name, runs):
    """Somebody who was well waited for it, to the end of its patience or to be told that it was done, and nobody ran."""
    if any(run.section or ended(run) for run in runs):
        return
    for run in runs:
        if run.waits and run.exit_code in (0, 75) and not any(
                fault.reaches(run) and fault.overlaps(run.begin - SECOND, run.end) for fault in history.faults):
            yield f"{name} was missed, although {run.name} waited for it"
            return
