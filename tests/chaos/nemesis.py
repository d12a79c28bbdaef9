"""Faults of the processes and the servers of a chaos run: a seed is a sequence of choices."""

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from records import now


class Nemesis(threading.Thread):
    """Server faults one at a time, with a rest in between in which all must become well; faults of processes all the
    while."""

    def __init__(self, crowd, store, recorder, rng):
        super().__init__()
        self.crowd, self.store, self.recorder, self.rng = crowd, store, recorder, rng
        self.over = threading.Event()
        self.picking = threading.Lock()
        self.counts = {}
        self.failures = []

    def run(self):
        # A pause keeps one of them busy for seconds.
        work = [self.trouble_servers, *[self.trouble_processes] * 3]
        with ThreadPoolExecutor(len(work)) as threads:
            done = [threads.submit(each, type(self.rng)(self.rng.random())) for each in work]
        self.failures = [f"the nemesis failed: {each.exception()}" for each in done if each.exception()]

    def trouble_processes(self, rng):
        while not self.over.wait(rng.uniform(0.1, 0.8)):
            client = self.pick(rng)
            if client:
                rng.choice([self.kill_rlock, self.kill_head, self.kill_job, self.kill_guardian, self.pause_rlock,
                            self.pause_tree, self.blink, self.time_out])(client)

    def stop(self):
        self.over.set()
        self.join()

    def pick(self, rng):
        """Holders rather than waiters, of whom there are many more."""
        with self.picking:
            clients = sorted((c for c in self.crowd.clients() if not c.holds_still), key=lambda client: client.name)
            holders = [client for client in clients if client.job()]
            if holders and rng.random() < 0.7:
                clients = holders
            client = rng.choice(clients) if clients else None
            if client:
                client.holds_still = True
            return client

    def note(self, kind, begin, since, **more):
        """It came between `begin` and `since`."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.recorder.write("fault", t=begin, since=since, until=now(), kind=kind, **more)

    def hit(self, client, kind, pid, number):
        """A pid of ours, or of a child of ours that nobody has reaped: it cannot be another's."""
        begin = now()
        with contextlib.suppress(ProcessLookupError, TypeError):
            os.kill(pid, number)
            self.note(kind, begin, now(), run=client.name)

    def kill_rlock(self, client):
        if client.process.poll() is None:
            self.hit(client, "kill-rlock", client.process.pid, signal.SIGKILL)

    def kill_head(self, client):
        """The holder and the longest waiter for the same key, as when a host dies."""
        with self.picking:
            waiters = [other for other in self.crowd.clients()
                       if other.key == client.key and not other.holds_still and not other.job()]
            first = min(waiters, key=lambda other: other.number, default=None)
            if first:
                first.holds_still = True
        for each in filter(None, (client, first)):
            self.kill_rlock(each)

    def time_out(self, client):
        """As timeout(1) does: TERM for the process, and at once for its group."""
        if client.process.poll() is None:
            self.hit(client, "time-out", client.process.pid, signal.SIGTERM)
            with contextlib.suppress(ProcessLookupError):
                client.process.send_signal(signal.SIGTERM)

    def kill_guardian(self, client):
        if client.job():
            self.hit(client, "kill-guardian", client.guardian(), signal.SIGKILL)

    def kill_job(self, client):
        """The process itself: its daemon is to go with it."""
        if client.job():
            self.hit(client, "kill-job", client.job(), signal.SIGKILL)

    def pause(self, kind, client, pids, seconds):
        begin = now()
        send(signal.SIGSTOP, pids)
        since = now()
        time.sleep(seconds)
        send(signal.SIGCONT, reversed(pids))
        self.note(kind, begin, since, run=client.name)

    def pause_rlock(self, client):
        """rlock alone, longer than its lease: its guardian is still there."""
        self.pause("pause-rlock", client, [client.process.pid], 1.3 * client.ttl / 1000)

    def pause_tree(self, client):
        """All of it, as when a machine is frozen."""
        self.pause("pause-tree", client, client.tree(), 1.3 * client.ttl / 1000)

    def blink(self, client):
        self.pause("blink", client, client.tree(), 0.1)

    def trouble_servers(self, rng):
        while not self.over.wait(rng.uniform(1.0, 4.0)):
            trouble = self.store.trouble(rng)
            if not trouble:
                continue
            keys = [key for key in self.crowd.keys if trouble.concerns(key)]
            begin = now()
            trouble.begin()
            since = now()
            time.sleep(trouble.seconds)
            kind = trouble.end() or trouble.kind
            self.note(kind, begin, since, via=trouble.via, keys=keys)


def send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
