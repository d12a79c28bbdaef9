"""Kills runs of rlock at random instants, and compares what the server remembers of each with what became of it.

usage: kills.py RLOCK URL SEED COUNT DIRECTORY
Prints what came of them, a line each, then every lie; the exit code is 1 if there is one.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

WORKERS = 10  # most of the time they wait for leases to end
TTL = 2000  # ms
LEASE = 0 if sys.argv[2].startswith("file:") else TTL  # what a lock outlives its holder by
# The server records 50 runs of a lock; with more, the effect of a later one on an earlier one would be hidden.
RUNS_OF_A_KEY = 40

# A tree: a child, and a daemon in a session of its own. It says how it ends, as the last thing before it does.
JOB = """sleep 600 & child=$!
setsid sh -c 'echo $$ >"$0"; exec sleep 600' "$3" &
sleep "$1"
until [ -s "$3" ]; do sleep 0.01; done
kill "$child" "$(cat "$3")" 2>/dev/null
echo "$2" >"$4"
exit "$2"
"""


def host():
    """The command that makes a run the first process of a PID namespace, if allowed: the kernel kills all of one at
    once."""
    for user in [], ["--map-root-user"]:
        command = ["unshare", *user, "--pid", "--fork", "--mount-proc"]
        with contextlib.suppress(OSError):
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                return command
    return []


class Trial:
    """One key, and run after run under it."""

    def __init__(self, number, runs):
        self.key, self.runs = f"kills:{number}", runs
        self.rng = random.Random(f"{SEED} {number}")
        self.expected = []  # what the log is to say, the oldest first
        self.lies = []
        self.seen = {}

    def all(self):
        for number in range(self.runs):
            self.one(number)
        while "running" in (said := [outcome(run) for run in self.log()]):
            time.sleep(0.1)
        if said != self.expected[::-1]:
            self.lies.append(f"{self.key}: at last the log says {said}, and it was {self.expected[::-1]}")
        return self

    def one(self, number):
        rng, ends = self.rng, f"{DIRECTORY}/{self.key}.{number}"
        code, seconds = rng.choice([0, 0, 3]), rng.choice([0, 0.01, 0.05])
        host = HOST and rng.random() < 0.5
        command = [RLOCK, "-q", "-k", self.key, "-t", f"{TTL}ms", "-w", "60s", "--label", str(number), "--",
                   "sh", "-c", JOB, "job",
                   str(seconds), str(code), f"{ends}.daemon", ends]
        self.await_free()
        process = subprocess.Popen([*HOST, *command] if host else command,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if rng.random() < 0.5:
            time.sleep(rng.uniform(0, seconds + LENGTH))
        else:
            # Around the release, of which a run has few instants.
            while process.poll() is None and not os.path.exists(ends):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.008))
        killed = self.kill(process, host, rng)
        status = process.wait()
        self.judge(number, killed, status, code, ends)

    def await_free(self):
        """So that the instants are of runs, most of them, and not of waits."""
        if self.rng.random() < 0.9:
            while json.loads(ask("inspect", "--json", self.key))["holders"]:
                time.sleep(0.02)

    def kill(self, process, host, rng):
        if host:
            pids, what = children(process.pid), "host"
        elif rng.random() < 0.5:
            pids, what = [process.pid], "rlock"
        else:
            pids, what = tree(process.pid), "tree"
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return what if pids else "host before it began"

    def judge(self, number, killed, status, code, ends):
        """The server's word on the lock says whether the release came to it: while the lease lasts, nobody else gives it
        back."""
        held, mine = self.look(number)
        # A server may still be carrying out the last request of the killed process: judge what has come to rest.
        before = None
        while (held, mine and outcome(mine[0])) != before:
            before = held, mine and outcome(mine[0])
            time.sleep(0.1)
            held, mine = self.look(number)
        ended = int(read(ends)) if os.path.exists(ends) else None
        what = "never granted"
        if mine:
            said = outcome(mine[0])
            over = mine[0]["granted_ms_ago"] >= LEASE
            what = "lost" if held or said == "lost" and over else f"exited {code}"
            if said != what and not (held and said == "running"):
                self.lies.append(f"{self.key}, run {number} ({killed} killed, status {status}, its job ended with {ended}): "
                                 f"the log says {said}, and it was {what}")
            self.expected.append(what)
        if what == f"exited {code}" and ended != code:
            self.lies.append(f"{self.key}, run {number}: it was released, and its job had not ended")
        if status in (0, 3) and what != f"exited {code}":
            self.lies.append(f"{self.key}, run {number}: it exited with {status}, and was {what}")
        if not mine and ended is not None:
            self.lies.append(f"{self.key}, run {number}: its job ended, and the log does not know it")
        name = f"{killed} killed" if status not in (0, 3) else "ended before it was killed"
        name += f": {what.split()[0]}"
        self.seen[name] = self.seen.get(name, 0) + 1

    def look(self, number):
        """Whether the run holds the lock, and what the log says of it."""
        holders = json.loads(ask("inspect", "--json", self.key))["holders"]
        held = any(holder["label"] == str(number) for holder in holders)
        return held, [run for run in self.log() if run["label"] == str(number)]

    def log(self):
        locks = json.loads(ask("log", "--json", self.key))["locks"]
        return locks[0]["runs"] if locks else []


def outcome(run):
    return run["outcome"] if run["exit_code"] is None else f"{run['outcome']} {run['exit_code']}"


def ask(*words):
    done = subprocess.run([RLOCK, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"rlock {' '.join(words)}: {done.returncode}: {done.stderr}")
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read() or "-1"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def tree(root):
    """rlock, its guardian and its job, stopped from the top down, so that none of them does anything more."""
    pids = [root]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        while state(pid) in ("R", "S", "D"):
            time.sleep(0.001)  # or it has a child after we looked
        pids += children(pid)
    return pids


def state(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    return None


def left_over():
    """Processes of runs, with what they are and whose job they belong to."""
    mark = f"KILLS={DIRECTORY}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            if mark in variables and int(pid) != os.getpid():
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ")
                token = [each for each in variables if each.startswith((b"RLOCK_KEY=", b"RLOCK_TOKEN="))]
                found.append(f"{pid}, {command.decode()[:60]!r}, {b' '.join(token).decode()}, state {state(pid)}")
    return found


def usual_length():
    """Of a run whose job does nothing: the longest of some."""
    longest = 0
    for number in range(5):
        begin = time.monotonic()
        subprocess.run([RLOCK, "-q", "-k", "kills:length", "--", "sh", "-c", JOB, "job", "0", "0",
                        f"{DIRECTORY}/length{number}.daemon", f"{DIRECTORY}/length{number}"], check=True)
        longest = max(longest, time.monotonic() - begin)
    return 1.5 * longest


RLOCK, URL, SEED, COUNT, DIRECTORY = sys.argv[1:]
os.environ.update(RLOCK_SERVER=URL, KILLS=DIRECTORY, LOGNAME="kills")
HOST = host()
LENGTH = usual_length()


def main():
    count = int(COUNT)
    keys = max(WORKERS, -(-count // RUNS_OF_A_KEY))
    shares = [count // keys + (number < count % keys) for number in range(keys)]
    with ThreadPoolExecutor(WORKERS) as pool:
        trials = list(pool.map(lambda each: Trial(*each).all(), enumerate(shares)))
    seen, lies = {}, []
    for trial in trials:
        lies += trial.lies
        for what, number in trial.seen.items():
            seen[what] = seen.get(what, 0) + number
    deadline = time.monotonic() + 10
    while left_over() and time.monotonic() < deadline:
        time.sleep(0.1)
    lies += [f"still there: process {each}" for each in left_over()]
    for what in sorted(seen):
        print(f"{what}: {seen[what]}")
    for lie in lies:
        print(f"LIE: {lie}")
    return 1 if lies or sum(seen.values()) != count else 0


if __name__ == "__main__":
    sys.exit(main())
