"""Real rlock processes that contend for a few keys."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from records import now

TTLS = (1000, 1500, 2000)  # ms
PATIENCE = 60  # s that a waiter has
PERIOD = 1.5  # s of a slot: some runs come for each


@dataclass
class Client:
    """One run of rlock, as the nemesis sees it."""

    name: str
    number: int
    key: str
    process: subprocess.Popen
    ttl: int
    holds_still: bool = False  # hit already; one fault is enough to explain what follows

    def children(self, pid):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def guardian(self):
        return next(iter(self.children(self.process.pid)), None)

    def job(self):
        guardian = self.guardian()
        return next(iter(self.children(guardian)), None) if guardian else None

    def tree(self):
        pids = [self.process.pid]
        for pid in pids:
            pids += self.children(pid)
        return pids


class Crowd:
    """Threads that start rlock again and again, until stop()."""

    def __init__(self, rlock, job, directory, store, recorder, rng, size, keys):
        self.rlock, self.job, self.directory, self.recorder = rlock, job, directory, recorder
        self.ways, self.modes, self.has_leases = store.ways(), store.modes, store.has_leases
        self.keys = [f"chaos:{number}" for number in range(keys)]
        self.newest_wins = self.keys[-1] if store.supersedes else None  # of this key all runs supersede
        way = next(iter(self.ways.values()))
        self.remembers = self.can("log", *way, "chaos:ask")
        self.slotted = None  # and of this one all are for a slot
        self.slots = set()
        if self.can(*way, "-k", "chaos:ask", "--slot", "s", "--history", "1s", "--", "true"):
            self.slotted = "chaos:slots"
            self.keys.append(self.slotted)
        self.lock = threading.Lock()
        self.live = {}  # name to Client
        self.count = self.hanging = 0
        self.over = threading.Event()
        seeds = [rng.random() for _ in range(size)]
        self.threads = [threading.Thread(target=self.work, args=(type(rng)(seed),)) for seed in seeds]
        os.makedirs(f"{directory}/status")
        os.makedirs(f"{directory}/resources")
        os.makedirs(f"{directory}/slow")
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # comes when somebody wants to open what is leased

    def can(self, *words):
        """Whether it does that on this kind of store, says the program."""
        return subprocess.run([self.rlock, *words], capture_output=True, check=False).returncode != 64

    def start(self):
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()

    def clients(self):
        with self.lock:
            return list(self.live.values())

    def names(self):
        """Of all runs, also those that are over."""
        return {f"r{number}" for number in range(1, self.count + 1)}

    def stop(self):
        """Nobody new; those that are there come to their end."""
        self.over.set()

    def wait(self, patience):
        deadline = time.monotonic() + patience
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)

    def work(self, rng):
        while not self.over.is_set():
            self.run_once(rng)
            time.sleep(rng.choice([0, 0.01, 0.2]))

    def run_once(self, rng):
        with self.lock:
            self.count += 1
            count = self.count
        name = f"r{count}"
        key, mode, ttl = rng.choice(self.keys), rng.choice(self.modes), rng.choice(TTLS)
        via, waits = rng.choice(sorted(self.ways)), rng.random() < 0.8
        length, code = rng.choice([1, 30, 200, 1200, 3000]), rng.choice([0, 0, 3, 42])
        flags = rng.choice(["-", "d", "i", "di"])
        supersedes = key == self.newest_wins
        if supersedes:
            mode, waits = "x", True
        slot, retries, shares = None, 0, False
        if key == self.slotted:
            mode, number = "x", int((time.monotonic() - self.began) / PERIOD)
            slot, retries, shares = f"s{number}", number % 2, rng.random() < 0.5
            self.slots.add(slot)
        job = self.hanging_job(name, rng) if rng.random() < 0.04 else self.job
        status = f"{self.directory}/status/{name}"
        command = [self.rlock, "-q", *self.ways[via], "-k", key, "--ttl", f"{ttl}ms", "--label", name,
                   "--status-file", status, *(["-w", f"{PATIENCE}s"] if waits else []), *(["-s"] if mode == "s" else []),
                   *(["--supersede"] if supersedes else []),
                   *(["--slot", slot, "--retry", str(retries), *(["--share"] if shares else [])] if slot else []),
                   "--", job, name, key, mode, str(length), str(code), flags,
                   f"{self.directory}/resources/{key}", self.recorder.path]
        self.recorder.write("start", run=name, key=key, mode=mode, ttl=ttl if self.has_leases else None,
                            waits=PATIENCE if waits else 0, via=via, supersedes=supersedes, slot=slot, retries=retries, shares=shares)
        with open(f"{self.directory}/stderr", "ab") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        with self.lock:
            self.live[name] = Client(name, count, key, process, ttl)
        code = process.wait()
        with self.lock:
            del self.live[name]
        self.recorder.write("end", run=name, code=code, status=read_status(status))


    def hanging_job(self, name, rng):
        """A copy that hangs while it is loaded, as if its file server was silent: a process that opens the file waits
        until the lease on it is given back (fcntl(2), F_SETLEASE)."""
        path = f"{self.directory}/slow/{name}"
        shutil.copy(self.job, path)
        file = os.open(path, os.O_RDONLY)
        while True:
            try:
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                break
            except BlockingIOError:  # another thread's child, not yet in its program, has the file open as well
                time.sleep(0.001)
        begin = now()
        with self.lock:
            self.hanging += 1

        def give_back():
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            os.close(file)
            self.recorder.write("fault", t=begin, since=begin, until=now(), kind="slow-exec", run=name)

        threading.Timer(rng.choice([0.5, 4.0]), give_back).start()
        return path


def read_status(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
