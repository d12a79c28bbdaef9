"""A slot whose run ends, and all who wait for it with --share."""

import os
import statistics
import time

from bars.handoff import chain
from world import DIR, RLOCK, redis, row, start, until

CODE = 7
SIZES = (10, 100, 1000)


def leave_together(waiters):
    """Exit codes; ms from the job's end to that of the first waiter, and from there to that of the last."""
    key = f"share{waiters}"
    gate, held, over = (f"{DIR}/{key}.{each}" for each in ("gate", "held", "over"))
    command = [RLOCK, "-q", "-k", key, "--slot", "s", "--share", "-w", "forever", "--"]
    open(gate, "w").close()
    # It says when it ends, which is when the gate opens.
    holder = start(*command, "sh", "-c", f": >{held}; while [ -e {gate} ]; do sleep 0.02; done; : >{over}; exit {CODE}")
    until(lambda: os.path.exists(held), "the holder's job")
    processes = {}
    for _ in range(waiters):
        process = start(*command, "false")
        processes[process.pid] = process
    until(lambda: int(redis("zcard", f"{{{key}}}:rlock:queue")) == waiters, "the queue", 60 + waiters)
    time.sleep(1)  # who has just come into the queue is about to sleep
    os.unlink(gate)
    ends, codes = [], set()
    while processes:
        pid, status = os.wait()
        if pid in processes:
            ends.append(time.time_ns())
            codes.add(os.waitstatus_to_exitcode(status))
            processes.pop(pid).returncode = 0
        elif pid == holder.pid:
            holder.returncode = 0
            codes.add(os.waitstatus_to_exitcode(status))
    if holder.returncode is None:
        holder.wait()
    job = os.stat(over).st_mtime_ns
    return codes, (ends[0] - job) / 1e6, (ends[-1] - ends[0]) / 1e6


def share():
    """They are told at once, so it costs no hand-off for each."""
    gaps = chain([RLOCK, "-q", "-k", "k", "-w", "forever", "--"], 10,
                 lambda: int(redis("zcard", "{k}:rlock:queue")) == 10)[0]
    handoff = statistics.median(gaps)
    for waiters in SIZES:
        codes, first, spread = leave_together(waiters)
        bar = 1.5 * handoff + waiters
        row(f"share, {waiters} waiting: from the first's end to the last's, in ms", f"{spread:.0f}", f"<= {bar:.0f}", spread <= bar)
        row(f"share, {waiters} waiting: from the job's end to the first's, in ms", f"{first:.0f}", "<= 50", first <= 50)
        row(f"share, {waiters} waiting: their exit codes", " ".join(map(str, sorted(codes))), f"{CODE}", codes == {CODE})
