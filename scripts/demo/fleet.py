"""An hour of cron on five hosts, under five policies at once. Called by scripts/demo/fleet, which says what it plays.

usage: fleet.py RLOCK DIRECTORY [--minutes N] [--minute SECONDS] [--dying PERCENT] [--seed N]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass

HOSTS = 5
APART = 1 / 6  # of a minute, the clocks
JOBS = (1 / 30, 1 / 5)  # of a minute, the jobs
LEASE = 1 / 3  # of a minute

# It says when it begins and when it has done its work; who dies in between has not done it.
JOB = 'echo "$1 begin" >>"$0"; sleep "$2"; echo "$1 end" >>"$0"'


@dataclass
class Policy:
    name: str
    key: str
    file: str  # what its jobs say
    options: tuple

    def command(self, rlock, minute, seconds, job_seconds):
        words = [word.format(slot=f"minute-{minute:02}", most=f"{0.9 * seconds:.3f}s", whole=f"{seconds:.3f}s",
                             patience=f"{2 * seconds:.3f}s") for word in self.options]
        return [rlock, "-q", "-E", "0", "-k", self.key, "-t", f"{LEASE * seconds:.3f}s", *words, "--",
                "sh", "-c", JOB, self.file, f"{minute}", f"{job_seconds:.3f}"]


POLICIES = (
    ("plain lock", ()),
    ("--min-hold, 0.9 of a minute", ("--min-hold", "{most}")),
    ("--min-hold, a whole minute", ("--min-hold", "{whole}")),
    ("--slot", ("--slot", "{slot}")),
    ("--slot, and spares that wait", ("--slot", "{slot}", "-w", "{patience}")),
)


class Host:
    """Five crontab lines, one a policy. Its clock is ahead of the true one by `ahead` s."""

    def __init__(self, ahead):
        self.ahead, self.running = ahead, []

    def fire(self, commands):
        self.running = [each for each in self.running if each.poll() is None]
        self.running += [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL) for command in commands]

    def die(self):
        """All at once, as far as a program can: nobody of them acts on the death of another."""
        for number in signal.SIGSTOP, signal.SIGKILL:
            for process in self.running:
                for pid in tree(process.pid):
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
        for process in self.running:
            process.wait()
        self.running = []


def tree(root):
    pids = [root]
    for pid in pids:
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                pids += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return pids[::-1]  # the job first: its guardian would say that rlock is gone


def play(options, policies, rng):
    """Says how many hosts died."""
    hosts = [Host(rng.uniform(-APART / 2, APART / 2) * options.minute) for _ in range(HOSTS)]
    events, deaths = [], 0
    for minute in range(options.minutes):
        job_seconds = rng.uniform(*JOBS) * options.minute
        for host in hosts:
            at = (minute + 1) * options.minute - host.ahead
            events.append((at, "fire", host, minute, job_seconds))
            if rng.random() * 100 < options.dying:
                deaths += 1
                events.append((at + rng.uniform(0, job_seconds), "die", host, minute, 0))
    begin = time.monotonic()
    for at, what, host, minute, job_seconds in sorted(events, key=lambda event: event[0]):
        time.sleep(max(0.0, begin + at - time.monotonic()))
        if what == "die":
            host.die()
        else:
            host.fire([each.command(options.rlock, minute, options.minute, job_seconds) for each in policies])
    for host in hosts:
        for process in host.running:
            process.wait()
    return deaths


def count(policy, minutes):
    """The minutes whose job was done once, twice or more often, never."""
    done = Counter()
    if os.path.exists(policy.file):
        with open(policy.file, encoding="ascii") as file:
            for line in file:
                minute, what = line.split()
                done[int(minute)] += what == "end"
    once = sum(done[minute] == 1 for minute in range(minutes))
    twice = sum(done[minute] > 1 for minute in range(minutes))
    return once, twice, minutes - once - twice


def main():
    parser = argparse.ArgumentParser(prog="fleet")
    parser.add_argument("rlock")
    parser.add_argument("directory")
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--minute", type=float, default=1.5, help="how many seconds it is")
    parser.add_argument("--dying", type=float, default=1.0, help="per cent of the hosts, each minute")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    policies = [Policy(name, f"fleet:{number}", f"{options.directory}/{number}", words)
                for number, (name, words) in enumerate(POLICIES)]
    print(f"{HOSTS} hosts, clocks up to {60 * APART:.0f} s apart, {options.minutes} minutes of cron; "
          f"a minute is {options.minute:g} s here", flush=True)
    deaths = play(options, policies, random.Random(options.seed))
    print(f"{deaths} times a host died\n")
    print(f"{'each minute, on every host':<30} {'once':>6} {'twice or more':>14} {'missed':>7}")
    counts = {}
    for policy in policies:
        counts[policy.name] = count(policy, options.minutes)
        once, twice, missed = counts[policy.name]
        print(f"{policy.name:<30} {once:>6} {twice:>14} {missed:>7}")
    slot, spares = counts["--slot"], counts["--slot, and spares that wait"]
    good = slot[1] == spares[1] == spares[2] == 0
    print(f"\nfleet: {'ok' if good else 'FAILED'}: with --slot twice {slot[1]}, missed {slot[2]}; "
          f"with spares twice {spares[1]}, missed {spares[2]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
