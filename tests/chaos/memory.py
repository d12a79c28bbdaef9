"""The server's record of runs: read all the time, and compared with the records of the jobs."""

import json
import random
import subprocess
import threading

from gaps import SERVER_FAULTS
from history import ELECTED, SECOND
from overlaps import START
from records import now
from slots import PAUSES, forgotten

REMEMBERED = 50  # runs of a key


class Looks(threading.Thread):
    """Asks rlock log for each key, about once a second, until stop()."""

    def __init__(self, crowd):
        super().__init__()
        self.crowd, self.over, self.said = crowd, threading.Event(), {}

    def run(self):
        while not self.over.wait(1):
            self.look()

    def look(self):
        for key in self.crowd.keys:
            way = self.crowd.ways[random.choice(sorted(self.crowd.ways))]
            since = now()
            asked = subprocess.run([self.crowd.rlock, "log", *way, "--json", key], capture_output=True, check=False)
            if asked.returncode != 0:
                continue  # the nemesis was there
            locks = json.loads(asked.stdout)["locks"]
            runs = [[each["label"], each["token"], each["fence"], each["outcome"],
                     each["signal"] if each["exit_code"] is None else each["exit_code"], each["slot"], each["attempt"]]
                    for each in (locks[0]["runs"] if locks else [])]
            # Only what it has not said before; the names of the others.
            news = [run for run in runs if self.said.get(run[1]) != run]
            self.said.update((run[1], run) for run in runs)
            self.crowd.recorder.write("look", key=key, since=since, runs=news, all=[run[0] for run in runs])

    def stop(self):
        self.over.set()
        self.join()
        self.look()  # at all ends


def check_memory(history, counts):
    counts["runs remembered"] = counts["  of them lost"] = 0
    last = {}
    for look in history.looks:
        for said in look.runs:
            last[said[1]] = (look, said)
    for look, said in last.values():
        counts["runs remembered"] += 1
        counts["  of them lost"] += said[3] == "lost"
        for lie in lies_about(history, look, *said):
            yield f"the log says of {said[0]}: {said[3]} {said[4]}; {lie}"
    yield from forgotten_runs(history)


def lies_about(history, look, label, token, fence, outcome, number, slot, attempt):
    run = history.runs.get(label)
    if run is None:
        yield "there was no such run"
        return
    section = run.section
    if (run.key, run.slot) != (look.key, slot):
        yield f"it was for {run.key}, slot {run.slot}"
    if section and section.token != token and outcome in ("lost", "running") and was_granted_before(history, run, fence):
        return
    # Of a run on a quorum whose end nobody told, each server remembers a number of its own.
    untold = run.via == "quorum" and outcome in ("lost", "running")
    numbered_alike = untold or section is None or section.fence == fence
    if section and (section.token != token or not numbered_alike):
        yield f"its job was told of another grant: {section.fence}"
        return
    if section and slot and section.attempt != attempt:
        yield f"its job was told of attempt {section.attempt}"
    if outcome == "exited" and (section is None or section.code != number):
        yield f"its job ended with {section.code if section else 'nothing'}"
    if outcome == "signalled" and run.exit_code not in (-9, 128 + number):
        yield f"it exited with {run.exit_code}"
    if outcome == "lost" and not lost_by_something(history, run):
        yield "nothing took the lock away"
    if outcome == "superseded" and not run.supersedes:
        yield "nobody superseded it"
    if outcome in ("cancelled", "overran", "released"):
        yield "nobody did that"
    if outcome == "running" and run.end is not None and run.end < look.begin and not lost_by_something(history, run):
        yield "it had ended"


def was_granted_before(history, run, fence):
    """Whether that may be a grant that the run lost before its job began with a later one."""
    # A try on a quorum that was given up looks lost where one server has not heard of that, and another is silent.
    return run.via == "quorum" or (fence < run.section.fence and taken_away(history, run, run.section.begin))


def lost_by_something(history, run):
    return run.end is None or taken_away(history, run, run.end + SECOND)


def taken_away(history, run, until):
    return any(fault.kind not in ("blink", "kill-job", "time-out") and fault.touches(run, until) for fault in history.faults)


def forgotten_runs(history):
    """A run that ended well, and was not there when somebody looked."""
    for look in history.looks:
        known = set(look.all)
        # The log also counts runs whose job recorded nothing, and a run once for each grant. If it is full, older runs may
        # be gone.
        full = len(look.all) + hidden(history, look) >= REMEMBERED
        kept = [run for run in history.runs.values() if run.name in known and run.section] if full else []
        recent = [run for run in history.runs.values() if run.key == look.key and run.section
                  and run.section.begin < look.end and not (full and is_older(run, kept))]
        for run in recent:
            if run.end is None or run.end > look.begin or run.name in known or run.exit_code != run.section.code:
                continue
            if forgotten(history.faults, run, run.section.begin, look.end) or any(
                    fault.reaches(run) and fault.kind in SERVER_FAULTS + PAUSES
                    and fault.overlaps(run.section.begin - SECOND, run.end + SECOND) for fault in history.faults):
                continue
            yield f"the log of {look.key} does not know {run.name}, which ended before"


def hidden(history, look):
    """How many entries the log may hide. Where servers elect a leader, it does not list a grant without an end whose run
    waits: the run lost that grant, or never heard of it."""
    return sum(run.via in ELECTED and run.key == look.key and run.begin < look.end
               and (run.end is None or run.end > look.begin) and not (run.section and run.section.begin < look.begin)
               and taken_away(history, run, look.end) for run in history.runs.values())


def is_older(run, kept):
    """Whether it was granted before all that the log has kept. Where servers elect a leader, the fence of a reader is not
    in the order of the grants; its job's first word is, more or less."""
    if run.section.fence < min((other.section.fence for other in kept), default=0):
        return True
    return run.via in ELECTED and run.mode == "s" and run.section.begin < min(
        (other.section.begin for other in kept), default=0) + START
