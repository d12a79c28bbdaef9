"""The history, assembled from the records: runs, their sections, faults."""

from dataclasses import dataclass, field

MS = 1_000_000
SECOND = 1000 * MS
# Ways to servers that elect a leader.
ELECTED = ("etcd", "zk")


@dataclass
class Section:
    """A critical section: from the job's first word to the last sign of life of anything in its tree."""

    run: str
    key: str
    mode: str
    fence: int
    token: str
    begin: int
    end: int
    code: int | None = None  # what the job said it would exit with; None if it was stopped
    attempt: int | None = None  # what the job was told: the how many-th run for the slot


@dataclass
class Fault:
    kind: str
    begin: int
    end: int
    since: int  # from here on it was there for certain
    run: str | None = None  # the run it hit; None: servers, or the ways to them
    via: str | None = None  # the way to the server that it hit
    keys: list[str] | None = None  # that the server had

    def reaches(self, run):
        """Whether it can have been in the way. A client that looks for a key's server may ask another one first."""
        return self.run in (None, run.name) and self.via in (None, run.via)

    def befalls(self, run):
        """Whether it was the server that had the run's key."""
        return self.reaches(run) and (self.keys is None or run.key in self.keys)

    def overlaps(self, begin, end):
        return self.begin <= end and begin <= self.end

    def touches(self, run, until):
        """Whether it reaches the run between its begin and that moment. A cluster that has just elected a leader, or
        whose member has just come back, may not answer for a moment."""
        aftermath = SECOND if self.run is None and run.via in ELECTED else 0
        return self.reaches(run) and self.overlaps(run.begin - aftermath, until)


@dataclass
class Run:
    name: str
    key: str
    mode: str
    ttl: int | None  # ms; None where there is no lease
    waits: int  # s that it has patience for
    via: str
    begin: int
    supersedes: bool = False
    slot: str | None = None
    retries: int = 0  # so many runs for the slot may fail before it is done
    shares: bool = False  # exits as the run did that made the slot done
    end: int | None = None
    exit_code: int | None = None
    status: dict | None = None
    section: Section | None = None
    faults: list[Fault] = field(default_factory=list)

    def found_done(self):
        """The slot was done by another, of whom this tells; or None."""
        status = self.status or {}
        return status.get("done") if status.get("outcome") == "done" else None


@dataclass
class Write:
    t: int
    run: str
    key: str
    fence: int
    accepted: bool


@dataclass
class Look:
    """The output of rlock log at a moment, for one key."""

    key: str
    begin: int
    end: int
    runs: list[list]  # of which it said something new: name, token, fence, outcome, its number, slot, attempt
    all: list[str]  # the names of all


@dataclass
class History:
    runs: dict[str, Run]
    faults: list[Fault]
    writes: list[Write]
    left_behind: list[str]
    strays: list[str]  # sections of no run, second sections of one run
    looks: list[Look] = field(default_factory=list)

    def sections(self, key):
        found = [run.section for run in self.runs.values() if run.section and run.key == key]
        return sorted(found, key=lambda section: section.begin)

    def superseded(self, run):
        """Whether a newer run can have sent it away. Which is newer the server says, by the order in which they came to
        it: one that began earlier may have come later, if something was in its way. A lost answer was not: its question
        had come."""
        return run.supersedes and any(
            other.supersedes and other.key == run.key and other is not run and other.begin <= run.end
            and (run.begin - SECOND < other.begin or self.was_held_up(other, run.end))
            for other in self.runs.values())

    def was_held_up(self, run, until):
        return any(fault.kind != "lost-reply" and fault.reaches(run) and fault.overlaps(run.begin, until)
                   for fault in self.faults)

    def keys(self):
        return sorted({run.key for run in self.runs.values()})


def history_of(records):
    history = History({}, [], [], [], [])
    for record in records:
        take(history, record)
    for fault in history.faults:
        if fault.run in history.runs:
            history.runs[fault.run].faults.append(fault)
    return history


def take(history, record):
    t, what, name = record["t"], record["what"], record.get("run")
    run = history.runs.get(name)
    if what == "start":
        history.runs[name] = Run(name, record["key"], record["mode"], record["ttl"], record["waits"],
                                 record["via"], t, record.get("supersedes", False), record.get("slot"),
                                 record.get("retries", 0), record.get("shares", False))
    elif what == "fault":
        history.faults.append(Fault(record["kind"], t, record["until"], record["since"], name, record.get("via"),
                                    record.get("keys")))
    elif what == "look":
        history.looks.append(Look(record["key"], record["since"], t, record["runs"], record["all"]))
    elif what == "left":
        history.left_behind.append(record["thing"])
    elif run is None:
        history.strays.append(f"{what} of an unknown run {name}")
    elif what == "end":
        run.end, run.exit_code, run.status = t, record["code"], record["status"]
    elif what == "enter":
        if run.section:
            history.strays.append(f"{name} ran its job twice")
        run.section = Section(name, record["key"], record["mode"], record["fence"], record["token"], t, t,
                              attempt=record.get("attempt"))
    else:
        if not run.section:
            history.strays.append(f"{what} of {name} before it entered")
            return
        run.section.end = max(run.section.end, t)
        if what == "leave":
            run.section.code = record["code"]
        elif what == "write":
            history.writes.append(Write(t, name, record["key"], record["fence"], record["accepted"]))
