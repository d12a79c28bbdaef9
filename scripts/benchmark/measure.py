"""Times of commands and of jobs; what a process costs."""

import os
import random
import re
import shutil
import statistics
import tempfile
import time

from world import ENV, row

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
                                  file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
            _, status = os.waitpid(pid, 0)
            times[place] = time.perf_counter() - begin
            assert status == 0, command
        result.append(times)
    os.close(null)
    return result


def ratios_to_flock(what, rounds, bars):
    """Of each round's commands to its first; None: no bar."""
    for index, (name, bar) in enumerate(bars.items(), 1):
        ratio = statistics.median(each[index] / each[0] for each in rounds)
        row(f"{what}{name}, to flock -n", f"{ratio:.2f}", f"<= {bar}" if bar else "-", not bar or ratio <= bar)


# How a file lies in the page cache makes a run of it 7 % slower or faster; in memory all pages are alike.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
COPIES = 3
# Beside a neighbour that takes the processors, the waits for them are compared, and not the programs. Of all rounds,
# each the same number of runs of both, those count that took the least time as a whole.
CALMEST = 1 / 3


def ratios(program, other, ways, rounds):
    """The time of a run of program as a ratio to one of other, for each list of arguments in ways. In each round both
    run COPIES times."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        programs = [shutil.copy(each, f"{memory}/{name}{n}")
                    for n in range(COPIES) for name, each in (("other", other), ("this", program))]
        for words in ways:
            seen = in_turns(*([each, *words] for each in programs), rounds=rounds, shuffle=True)
            calm = sorted(seen, key=sum)[:int(len(seen) * CALMEST)]
            yield statistics.median(sum(each[1::2]) / sum(each[0::2]) for each in calm)


def runs_of(log):
    """The records of the program stamp: (start, end, token), in ns, in the order of the starts."""
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


def memory_kb(pid, kind):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return int(re.search(rf"^{kind}:\s+(\d+)", file.read(), re.M).group(1))
    except (FileNotFoundError, ProcessLookupError, AttributeError):
        return 0


def pss_kb(pid):
    """Its share of all pages."""
    return memory_kb(pid, "Pss")


def dirty_kb(pid):
    """Of the pages that it has alone, those that are no file's."""
    return memory_kb(pid, "Private_Dirty")


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
