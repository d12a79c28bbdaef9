"""The lock of a holder that was killed."""

import os
import signal
import time

from measure import runs_of, tree
from world import DIR, RLOCK, STAMP, redis, row, start, until


def takeover():
    row_for("takeover after kill -9")
    row_for("a slot's spare after its runner's host died", "--slot", "s")


def row_for(what, *slot):
    """After the last refresh plus the TTL nobody can be the holder: from then on it is idle time."""
    late = []
    for ttl in [1.0] * 10 + [3.0] * 3:
        log = f"{DIR}/stamps"
        open(log, "w").close()
        redis("del", "{k}:rlock:slot:s")
        holder = start(RLOCK, "-k", "k", *slot, "-t", str(ttl), "--", "sleep", "1000")
        time.sleep(0.2)
        heir = start(RLOCK, "-q", "-k", "k", *slot, "-w", "forever", STAMP, log, "0")
        until(lambda: int(redis("zcard", "{k}:rlock:queue")) == 1)
        time.sleep(ttl * 0.6)
        for pid in tree(holder.pid) if slot else [holder.pid]:
            os.kill(pid, signal.SIGKILL)
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        holder.wait()
        heir.wait()
        late.append((runs_of(log)[0][0] - killed) / 1e6 - ttl * 1000)
    row(f"{what}: the worst, beyond the TTL, in ms", f"{max(late):.0f}", "<= 50",
        max(late) <= 50)
