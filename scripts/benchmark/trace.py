"""Where the time of a run or of a hand-off goes, by the kernel's own clock. Called by scripts/bench uncontended --trace
and handoff --trace.

The kernel's tracing (tracefs, for root) notes who runs, forks, loads a program, ends, sends and is woken. A hand-off
is what lies between the end of one stamped job and the start of the next; each of its steps has a time since that
end. Tracing costs something, so a chain without it is beside each.
"""

import dataclasses
import os
import re
import statistics
import sys

from chain import chain, flock_waiting, redis_waiting, shown
from measure import in_turns
from smallest import smallest
from world import DIR, RLOCK, STAMP

TRACING = "/sys/kernel/tracing"
INSTANCE = f"{TRACING}/instances/rlock-bench"
KB_PER_CPU = 64 << 10
READ, SENDTO, RECVFROM = 0, 44, 45  # numbers of x86-64
EVENTS = {"sched/sched_switch": None, "sched/sched_waking": None, "sched/sched_process_fork": None,
          "sched/sched_process_exec": None, "sched/sched_process_exit": None,
          "raw_syscalls/sys_enter": f"id == {SENDTO}", "raw_syscalls/sys_exit": f"(id == {READ} || id == {RECVFROM}) && ret > 0"}

LINE = re.compile(r" *(?P<comm>.+)-(?P<pid>\d+) +\[\d+\] \S+ +(?P<time>\d+\.\d+): (?P<event>\w+): (?P<rest>.*)")
NUMBER = {"sys_enter": r"NR (\d+) ", "sys_exit": r"NR (\d+) ", "sched_switch": r" next_pid=(\d+)",
          "sched_waking": r" pid=(\d+)", "sched_process_fork": r" child_pid=(\d+)"}


@dataclasses.dataclass
class Event:
    us: float
    pid: int     # who ran
    name: str
    number: int  # a system call; or whom it is about
    rest: str


def events_of(lines):
    for line in lines:
        seen = LINE.fullmatch(line.rstrip("\n"))
        if not seen:
            continue
        number = re.search(NUMBER[seen["event"]], " " + seen["rest"]) if seen["event"] in NUMBER else None
        yield Event(float(seen["time"]) * 1e6, int(seen["pid"]), seen["event"], int(number[1]) if number else 0, seen["rest"])


def put(place, text):
    with open(f"{INSTANCE}/{place}", "w") as file:
        file.write(str(text))


class Tracing:
    """The events while it is open."""

    def __enter__(self):
        try:
            os.makedirs(INSTANCE, exist_ok=True)
            put("trace_clock", "mono")
        except OSError as error:
            sys.exit(f"bench: --trace needs root, and the kernel's tracing at {TRACING}: {error}")
        put("buffer_size_kb", KB_PER_CPU)
        for name, choice in EVENTS.items():
            if choice:
                put(f"events/{name}/filter", choice)
            put(f"events/{name}/enable", 1)
        put("trace", "")
        return self

    def __exit__(self, *_):
        put("tracing_on", 0)
        try:
            for cpu in os.listdir(f"{INSTANCE}/per_cpu"):
                with open(f"{INSTANCE}/per_cpu/{cpu}/stats") as file:
                    lost = int(re.search(r"overrun: (\d+)", file.read())[1])
                if lost:
                    sys.exit(f"bench: {lost} events of the trace are lost: a smaller crowd, or more than {KB_PER_CPU} KB")
            with open(f"{INSTANCE}/trace", errors="replace") as file:
                self.events = list(events_of(file))
        finally:
            os.rmdir(INSTANCE)


class Trace:
    """The events of a trace, by process."""

    def __init__(self, events, server):
        self.server = server
        self.parent = {}
        self.of = {}     # pid: its events
        self.about = {}  # (event, pid): those about it
        for event in events:
            self.of.setdefault(event.pid, []).append(event)
            self.about.setdefault((event.name, event.number), []).append(event)
            if event.name == "sched_process_fork":
                self.parent.setdefault(event.number, event.pid)
        self.jobs = [event for event in events
                     if event.name == "sched_process_exec" and f"filename={STAMP} " in event.rest]

    def line_of(self, job):
        """It and those above it, as far as their forks are in the trace."""
        line = [job]
        while line[-1] in self.parent:
            line.append(self.parent[line[-1]])
        return line

    def above(self, job):
        """Its guardian, and its rlock; whatever else is between the two is passed over."""
        line = self.line_of(job)
        return (line[1], line[-1]) if len(line) > 2 else (None, None)

    def does(self, pid, name, after, number=None):
        return next((each for each in self.of.get(pid, ()) if each.us >= after and each.name == name
                     and (number is None or each.number == number)), None)

    def runs(self, pid, after):
        return next((each for each in self.about.get(("sched_switch", pid), ()) if each.us >= after), None)

    def is_woken(self, pid, after):
        return next((each for each in self.about.get(("sched_waking", pid), ())
                     if each.us >= after and each.pid == self.server), None)

    def fork_of(self, pid):
        return next(iter(self.about.get(("sched_process_fork", pid), ())), None)

    def handoff(self, before, after, start_us):
        """The times of the steps between two jobs, or None if one of them is not to be seen."""
        end = self.does(before.pid, "sched_process_exit", before.us)
        its_guardian, its_rlock = self.above(before.pid)
        guardian, rlock = self.above(after.pid)
        seen = {"the job has ended": end}

        def step(name, find, since):
            seen[name] = find(seen[since].us) if seen.get(since) else None
        step("its guardian runs", lambda us: self.runs(its_guardian, us), "the job has ended")
        step("its rlock runs", lambda us: self.runs(its_rlock, us), "its guardian runs")
        step("its rlock sends the release", lambda us: self.does(its_rlock, "sys_enter", us, SENDTO), "its rlock runs")
        step("the server reads it", lambda us: self.does(self.server, "sys_exit", us, READ), "its rlock sends the release")
        step("the server wakes the next one", lambda us: self.is_woken(rlock, us), "the server reads it")
        step("the next one runs", lambda us: self.runs(rlock, us), "the server wakes the next one")
        step("the next one asks", lambda us: self.does(rlock, "sys_enter", us, SENDTO), "the next one runs")
        step("the server answers", lambda us: self.is_woken(rlock, us), "the next one asks")
        step("the next one reads that", lambda us: self.runs(rlock, us), "the server answers")
        seen["it has forked a guardian"] = self.fork_of(guardian)
        seen["which has forked the job"] = self.fork_of(after.pid)
        seen["which is loaded"] = after
        if None in seen.values():
            return None
        times = {name: each.us - end.us for name, each in seen.items()}
        times["the job runs"] = start_us - end.us
        return times

    def run(self, job):
        """The times of the steps of a run since it was started, and the name of its program; or None."""
        guardian, program = self.line_of(job.pid)[1:3]
        seen = {"it is started": self.fork_of(program)}

        def step(name, find, since):
            seen[name] = find(seen[since].us) if seen.get(since) else None
        step("it is loaded", lambda us: self.does(program, "sched_process_exec", us), "it is started")
        step("it asks for the lock", lambda us: self.does(program, "sys_enter", us, SENDTO), "it is loaded")
        step("it reads the answer", lambda us: self.does(program, "sys_exit", us), "it asks for the lock")
        seen["it has forked a guardian"] = self.fork_of(guardian)
        seen["which has forked the job"] = self.fork_of(job.pid)
        seen["which is loaded"] = job
        seen["the job has ended"] = self.does(job.pid, "sched_process_exit", job.us)
        step("it sends the release", lambda us: self.does(program, "sys_enter", us, SENDTO), "the job has ended")
        step("it reads the answer to that", lambda us: self.does(program, "sys_exit", us), "it sends the release")
        step("it has ended", lambda us: self.does(program, "sched_process_exit", us), "it reads the answer to that")
        if None in seen.values():
            return None
        begin, filename = seen["it is started"].us, seen["it is loaded"].rest
        return filename, {name: each.us - begin for name, each in seen.items()}

    def handoffs(self, runs):
        """runs: as runs_of() has them, in the order of self.jobs."""
        pairs = zip(self.jobs, self.jobs[1:], runs[1:])
        return [times for each in pairs if (times := self.handoff(each[0], each[1], each[2][0] / 1000))]


def picture(handoffs, width=36):
    """A line for each step, in the order of time: when, how long after the one before, and where that lies."""
    at = {name: statistics.median(each[name] for each in handoffs) for name in handoffs[0]}
    steps = sorted(at.items(), key=lambda each: each[1])
    whole = steps[-1][1]
    yield f"  {'us':>6} {'took':>6}"
    last = 0
    for name, us in steps:
        begin, end = round(width * last / whole), round(width * us / whole)
        bar = " " * begin + "#" * max(end - begin, 0 if us == last else 1)
        yield f"  {us:6.0f} {us - last:6.0f}  {bar[:width]:<{width}}  {name}"
        last = us


def the_server():
    with open(f"{DIR}/pid") as file:
        return int(file.read())


def traced_runs(rounds=200):
    """rlock and the smallest client in turns: how long each step of theirs took."""
    job = [STAMP, f"{DIR}/stamps", "0"]
    commands = {"rlock": [RLOCK, "-k", "k", "--", *job], "the smallest client": smallest("once", *job)}
    in_turns(*commands.values(), rounds=10)
    with Tracing() as tracing:
        in_turns(*commands.values(), rounds=rounds)
    trace = Trace(tracing.events, the_server())
    took = {name: {} for name in commands}
    for seen in filter(None, map(trace.run, trace.jobs)):
        filename, at = seen
        name = next(each for each, command in commands.items() if f"filename={command[0]} " in filename)
        steps = list(at.items())
        for (_, before), (step, after) in zip(steps, steps[1:]):
            took[name].setdefault(step, []).append(after - before)
    seen_whole = [len(next(iter(each.values()), [])) for each in took.values()]
    if 0 in seen_whole:
        sys.exit(f"bench: not one of {rounds} runs has all its steps in the trace")
    print(f"uncontended run: us that each step took; {' and '.join(map(str, seen_whole))} of {rounds} seen whole")
    medians = [{step: statistics.median(each) for step, each in steps.items()} for steps in took.values()]
    print(f"  {'rlock':>6} {'smallest client':>16}")
    for step in medians[0]:
        print(f"  {medians[0][step]:6.0f} {medians[1][step]:16.0f}  {step}")
    print(f"  {sum(medians[0].values()):6.0f} {sum(medians[1].values()):16.0f}  in all")


def traced(waiters, repeats):
    rlock, flock = [RLOCK, "-q", "-k", "k", "-w", "forever", "--"], ["flock", f"{DIR}/file"]
    server = the_server()
    gaps, flocks, handoffs, gaps_traced = [], [], [], []
    for _ in range(repeats):
        flocks += chain(flock, waiters, flock_waiting(waiters)).gaps()
        gaps += chain(rlock, waiters, redis_waiting(waiters)).gaps()
        turns = chain(rlock, waiters, redis_waiting(waiters), watch=Tracing)
        gaps_traced += turns.gaps()
        handoffs += Trace(turns.watch.events, server).handoffs(turns.runs)
    name = shown(waiters)
    if not handoffs:
        sys.exit(f"bench: not one of {len(gaps_traced)} hand-offs has all its steps in the trace")
    median = statistics.median
    print(f"hand-off, {name}: {median(gaps) * 1000:.0f} us from the job's last word to the next one's first, "
          f"{median(gaps) / median(flocks):.2f} x flock's; traced {median(gaps_traced) * 1000:.0f}; "
          f"{len(handoffs)} of {len(gaps_traced)} seen whole")
    print("\n".join(picture(handoffs)), flush=True)


def main():
    if sys.argv[1] == "uncontended":
        return traced_runs()
    crowds = {1: (2, 20), 10: (10, 4), 100: (100, 1), 500: (500, 1)}
    wanted = [int(word) for word in sys.argv[2:] if word.isdigit()] or list(crowds)
    for each in wanted:
        traced(*crowds.get(each, (each, 1)))


if __name__ == "__main__":
    main()
