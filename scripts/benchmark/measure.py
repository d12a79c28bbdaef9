"""Times of commands and of jobs; what a process costs."""

import os
import random
import re
import time

from world import ENV

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def shuffled(things):
    """Another order each time: who comes after a heavy one finds the caches cold and the disk busy."""
    return random.sample(things, len(things))


def in_turns(*commands, rounds=400, shuffle=False):
    """Wall times in seconds, a list for each round: every command once a round, so that noise, the
    caches and the clock of the processor hit all alike; quote the median of the rounds' ratios."""
    null = os.open(os.devnull, os.O_RDWR)
    result = []
    for _ in range(rounds):
        times = [0.0] * len(commands)
        order = list(enumerate(commands))
        for place, command in shuffled(order) if shuffle else order:
            begin = time.perf_counter()
            pid = os.posix_spawnp(command[0], command, ENV,
                                  file_actions=[(os.POSIX_SPAWN_DUP2, null, 2)])
            _, status = os.waitpid(pid, 0)
            times[place] = time.perf_counter() - begin
            assert status == 0, command
        result.append(times)
    os.close(null)
    return result


def runs_of(log):
    """What the program stamp wrote: (start, end, token), in ns, in the order of the starts."""
    with open(log) as file:
        lines = sorted((line.split() for line in file), key=lambda words: int(words[0]))
    return [(int(words[0]), int(words[1]), words[2]) for words in lines]


def gaps_ms(runs):
    """Between one job's end and the next one's start."""
    return [(after[0] - before[1]) / 1e6 for before, after in zip(runs, runs[1:])]


def children(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def tree(pid):
    """The process and all that descend from it."""
    return [pid] + [each for child in children(pid) for each in tree(child)]


def pss_kb(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
    except (FileNotFoundError, ProcessLookupError, AttributeError):
        return 0


def cpu_ns(pid):
    """Of a process and its threads, to the nanosecond; of its children that are gone, in ticks."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
        total += (int(words[13]) + int(words[14])) * TICK_NS
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total
