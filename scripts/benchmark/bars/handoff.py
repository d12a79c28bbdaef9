"""From one job's end to the next one's start, with many waiting."""

import json
import os
import statistics
import subprocess

from measure import gaps_ms, runs_of
from wire import Wire
from world import DIR, ENV, RLOCK, STAMP, redis, row, start, until


def chain(command, waiters, queued, order=lambda: None):
    """Gaps in ms between one job's end and the next one's start, and the tokens as they ran."""
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
    redis("config", "resetstat")
    with Wire() as wire:
        os.unlink(gate)
        for process in [holder, *processes]:
            process.wait()
    runs = runs_of(log)
    assert len(runs) == waiters, (len(runs), waiters)
    return gaps_ms(runs), [each[2] for each in runs], expected, len(wire.commands()) / waiters


def flock_waiting(waiters):
    """In /proc/locks a line with an arrow is one that waits; other people's have another inode."""
    inode = f":{os.stat(f'{DIR}/file').st_ino} "

    def count():
        with open("/proc/locks") as file:
            return sum("->" in line and inode in line for line in file) >= waiters
    return count


def tokens_in_queue():
    out = subprocess.run([RLOCK, "inspect", "--json", "k"], env=ENV, capture_output=True, text=True)
    return [waiter["token"] for waiter in json.loads(out.stdout)["waiters"]]


def handoff():
    rlock = [RLOCK, "-q", "-k", "k", "-w", "forever", "--"]
    flock = ["flock", f"{DIR}/file"]
    open(f"{DIR}/file", "a").close()
    fifo = True
    # Two waiters make one gap between stamped jobs: the least that can be measured like this.
    for waiters, repeats in (2, 20), (10, 5), (100, 2), (500, 1):
        gaps_rlock, gaps_flock, commands = [], [], []
        for _ in range(repeats):
            gaps_flock += chain(flock, waiters, flock_waiting(waiters))[0]
            gaps, ran, expected, per_handoff = chain(
                rlock, waiters, lambda: int(redis("zcard", "{k}:rlock:queue")) == waiters,
                tokens_in_queue)
            gaps_rlock += gaps
            commands.append(per_handoff)
            fifo = fifo and ran == expected
        ratio = statistics.median(gaps_rlock) / statistics.median(gaps_flock)
        name = f"hand-off, {waiters if waiters > 2 else 1} waiting"
        row(f"{name}: to flock's ({statistics.median(gaps_rlock):.2f} ms)", f"{ratio:.2f}",
            "<= 1.4", ratio <= 1.4)
        most = max(commands)
        row(f"{name}: client commands each", f"{most:.1f}", "<= 10", most <= 10)
    row("hand-off: order of the queue kept", "always" if fifo else "NO", "always", fifo)
