"""Many that wait for one lock, and have their turns."""

import contextlib
import dataclasses
import os
import statistics

from measure import gaps_ms, runs_of
from world import DIR, STAMP, redis, start, until


@dataclasses.dataclass
class Turns:
    runs: list      # as runs_of() has them
    expected: list  # what order() said before the first turn
    watch: object   # what watch() gave

    def gaps(self):
        """In ms, between one job's end and the next one's start."""
        return gaps_ms(self.runs)

    def tokens(self):
        return [each[2] for each in self.runs]


def chain(command, waiters, queued, order=lambda: None, watch=contextlib.nullcontext):
    """One holds the lock until all stand in line, which queued() says; then each has its turn, under watch()."""
    log = f"{DIR}/stamps"
    open(log, "w").close()
    gate, held = f"{DIR}/gate", f"{DIR}/held"
    open(gate, "w").close()
    holder = start(*command, "sh", "-c", f": >{held}; while [ -e {gate} ]; do sleep 0.05; done")
    until(lambda: os.path.exists(held), "the holder's job")
    os.unlink(held)
    processes = [start(*command, STAMP, log, "10") for _ in range(waiters)]
    until(queued)
    expected = order()
    with watch() as watching:
        os.unlink(gate)
        for process in [holder, *processes]:
            process.wait()
    runs = runs_of(log)
    assert len(runs) == waiters, (len(runs), waiters)
    return Turns(runs, expected, watching)


# As bars, traces and tables count them: two waiters make one gap between stamped jobs, the least that can be measured.
# How many wait, and how many chains of them are measured.
CROWDS = (2, 20), (10, 5), (100, 2), (500, 1)


def shown(waiters):
    return f"{waiters if waiters > 2 else 1} waiting"


def handoffs(waiters, repeats, contestants):
    """The median of each one's gaps in ms, of chains in turns. contestants: name: (command, what makes queued())."""
    gaps = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, (command, in_line) in contestants.items():
            gaps[name] += chain(command, waiters, in_line(waiters)).gaps()
    return {name: statistics.median(each) for name, each in gaps.items()}


def flock_waiting(waiters):
    """In /proc/locks a line with an arrow is one that waits; other people's have another inode."""
    open(f"{DIR}/file", "a").close()
    inode = f":{os.stat(f'{DIR}/file').st_ino} "

    def count():
        with open("/proc/locks") as file:
            return sum("->" in line and inode in line for line in file) >= waiters
    return count


FLOCK = ["flock", f"{DIR}/file"], flock_waiting


def redis_waiting(waiters):
    return lambda: int(redis("zcard", "{k}:rlock:queue")) == waiters
