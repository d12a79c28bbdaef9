"""--local-gate: many that wait on one host, and one of them at the server."""

import os
import time

from world import DIR, RLOCK, redis, row, start, until

WAITERS = 200


def connections():
    return sum("cmd=client" not in line for line in redis("client", "list").splitlines())


def gate():
    """The holder has two connections, because its job lasts longer than a second."""
    holder = start(RLOCK, "-k", "k", "-t", "1h", "--", "sleep", "1000")
    until(lambda: connections() == 2, "the holder's two connections")
    said = f"{DIR}/gate.err"
    with open(said, "w") as errors:
        waiters = [start(RLOCK, "-k", "k", "-w", "forever", "--local-gate", "true", stderr=errors)
                   for _ in range(WAITERS)]
    until(lambda: open(said).read().count("waiting for") >= WAITERS, "all to say that they wait")
    until(lambda: connections() == 3, "the one that waits at the server")
    # All of them wait: from now on nobody has a reason to connect. Who does so nevertheless has a second.
    most = 0
    end = time.monotonic() + 1
    while time.monotonic() < end:
        most = max(most, connections() - 2)
    row(f"local gate: connections of {WAITERS} that wait on one host", str(most), "= 1", most == 1)
    holder.terminate()
    for each in [holder, *waiters]:
        each.wait()
    os.unlink(said)
