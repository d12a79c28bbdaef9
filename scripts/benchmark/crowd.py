"""A holder and many waiters for one lock, with one key, for every contestant."""

import itertools
import os
import signal
import subprocess
import time

from measure import children, runs_of
from world import DIR, ENV, STAMP

_number = itertools.count()


class GaveUp(Exception):
    """An expected event did not happen in time; says what did."""


def await_fact(fact, limit, what, step=0.01):
    end = time.monotonic() + limit
    while not fact():
        if time.monotonic() > end:
            raise GaveUp(what())
        time.sleep(step)


class Crowd:
    """Every crowd has a key of its own, so that leftovers of one do not affect the next."""

    def __init__(self, peer, **ttl):
        self.peer, self.ttl, self.key = peer, ttl, f"bench{next(_number):05}"
        self.log, self.gate, self.said = (f"{DIR}/{self.key}.{each}"
                                          for each in ("stamps", "gate", "err"))
        self.files = [self.log, self.gate, self.said]
        for each in self.files:
            open(each, "w").close()
        self.errors = open(self.said, "a")
        self.holder, self.waiters = None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kills the remaining processes: waiters first, or each would have its turn."""
        everyone = [*self.waiters, *([self.holder] if self.holder else [])]
        for each in everyone:
            try:
                os.killpg(each.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for each in everyone:
            each.wait()
        self.errors.close()
        for each in self.files:
            os.unlink(each)

    def start(self, *job):
        """In a group of its own, to be ended with all that it started."""
        return subprocess.Popen([*self.peer.wait(self.key, **self.ttl), *job], env=ENV,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=self.errors, start_new_session=True)

    def hold(self):
        """Its job ends when the gate opens, and then says when that was."""
        held = f"{DIR}/{self.key}.held"
        self.files.append(held)
        self.holder = self.start("sh", "-c", f": >{held}; while [ -e {self.gate} ]; do sleep 0.02; done; "
                                             f": >{self.gate}; exec {STAMP} {self.log} 0")
        await_fact(lambda: os.path.exists(held), 20, lambda: "nobody got the free lock")

    def gather(self, count, job_ms=0):
        """Returns when all of them stand in line."""
        for _ in range(count):
            self.waiters.append(self.start(STAMP, self.log, str(job_ms)))
        limit = 20 + count * 0.15
        await_fact(lambda: self.waiting() >= count or self.gone(), limit,
                   lambda: f"only {self.waiting()} of {count} stood in line after {limit:.0f} s", 0.05)
        if self.gone():
            raise GaveUp(f"{self.gone()} of {count} ended before anybody released the lock")
        time.sleep(0.2)  # who says that it waits is about to sleep

    def gone(self):
        return sum(each.poll() is not None for each in self.waiters)

    def waiting(self):
        return self.peer.waiting(self.key, self.said)

    def open_gate(self, limit):
        """All have their turn: their (start, end, token) in the order of the starts; the holder's first."""
        os.unlink(self.gate)
        total = len(self.waiters) + 1

        def done():
            with open(self.log) as file:
                return sum(1 for _ in file)
        await_fact(lambda: done() == total, limit,
                   lambda: f"only {max(done() - 1, 0)} of {total - 1} had their turn within {limit:.0f} s")
        for each in [self.holder, *self.waiters]:
            each.wait()
        return runs_of(self.log)


def job_of(holder, name):
    """The pid of the process called name among those that the holder started."""
    todo = [holder.pid]
    while todo:
        pid = todo.pop()
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == name and pid != holder.pid:
                    return pid
        except FileNotFoundError:
            continue
        todo += children(pid)
    return None
