"""Ten thousand that wait for one lock on one server: in order, and none is lost."""

import json
import os
import subprocess

from measure import runs_of
from world import DIR, ENV, RLOCK, STAMP, redis, row, start, until

WAITERS = 10_000
LIMIT = 600  # s; to start them, and for their turns


def crowd():
    log, gate = f"{DIR}/stamps", f"{DIR}/gate"
    for each in log, gate:
        open(each, "w").close()
    holder = start(RLOCK, "-k", "k", "--", "sh", "-c", f"while [ -e {gate} ]; do sleep 0.05; done")
    until(lambda: redis("exists", "k") == "1", "the holder")
    waiters = []
    for number in range(WAITERS):
        waiters.append(start(RLOCK, "-q", "-k", "k", "-w", "forever", "--", STAMP, log, "0"))
        # As many at once as the server's queue for connections takes.
        if number % 100 == 99:
            until(lambda: int(redis("zcard", "{k}:rlock:queue")) >= number - 100, "those before", LIMIT)
    until(lambda: int(redis("zcard", "{k}:rlock:queue")) == WAITERS, "all to stand in line", LIMIT)
    out = subprocess.run([RLOCK, "inspect", "--json", "k"], env=ENV, capture_output=True, text=True)
    expected = [each["token"] for each in json.loads(out.stdout)["waiters"]]
    os.unlink(gate)
    codes = [each.wait() for each in [holder, *waiters]]
    runs = runs_of(log)
    in_order = [each[2] for each in runs] == expected
    row(f"{WAITERS:,} wait on one server: had their turn, in order", f"{len(runs):,}, {'yes' if in_order else 'NO'}",
        f"= {WAITERS:,}", in_order and len(runs) == WAITERS and not any(codes))
    seconds = (runs[-1][0] - runs[0][1]) / 1e9
    row(f"{WAITERS:,} wait on one server: hand-offs a second", f"{len(runs) / seconds:.0f}", "-", True)
