"""One run of a free lock: commands, wall time, instructions. And of one that is held, or of none."""

import os
import re
import signal
import statistics
import subprocess

from measure import children, in_turns
from wire import Wire
from world import DIR, ENV, RLOCK, SOCKET, TCP, redis, row, start, until


def turned_away():
    holders = [start("flock", f"{DIR}/file", "sleep", "1000"), start(RLOCK, "-k", "k", "--", "sleep", "1000")]
    until(lambda: redis("exists", "k") == "1")
    until(lambda: subprocess.run(["flock", "-n", f"{DIR}/file", "true"]).returncode == 1)
    rounds = in_turns(["flock", "-n", "-E", "0", f"{DIR}/file", "true"], [RLOCK, "-q", "-E", "0", "-k", "k", "--", "true"])
    for each in holders:
        os.kill(children(each.pid)[0] if each is holders[0] else each.pid, signal.SIGTERM)
    for each in holders:
        each.wait()
    ratio = statistics.median(each[1] / each[0] for each in rounds)
    row("busy: one attempt that is turned away, to flock -n", f"{ratio:.2f}", "<= 1.1", ratio <= 1.1)


def without_lock():
    for words in ["--help"], ["--version"]:
        rounds = in_turns(["true"], [RLOCK, *words])
        ratio = statistics.median(each[1] / each[0] for each in rounds)
        row(f"rlock {' '.join(words)}, to true", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2)


def uncontended():
    subprocess.run([RLOCK, "-k", "k", "true"], env=ENV, check=True)  # the server knows the scripts
    with Wire() as wire:
        subprocess.run([RLOCK, "-k", "k", "true"], env=ENV, check=True)
    count = len(wire.commands())
    row("uncontended: client commands after connecting", str(count), "= 2", count == 2)

    redis("acl", "setuser", "app", "on", ">secret", "~*", "&*", "+@all")
    with Wire() as wire:
        subprocess.run([RLOCK, "-S", f"unix://app:secret@{SOCKET}", "-k", "k", "true"], env=ENV,
                       check=True)
    count = len(wire.commands())
    row("uncontended: the same with AUTH", str(count), "= 3", count == 3)

    rounds = in_turns(["flock", "-n", f"{DIR}/file", "true"], [RLOCK, "-k", "k", "--", "true"],
                      [RLOCK, "-S", TCP, "-k", "k", "--", "true"])
    for index, name, bar in (1, "a Unix socket", 1.2), (2, "TCP loopback", 1.35):
        ratio = statistics.median(each[index] / each[0] for each in rounds)
        row(f"uncontended: wall time over {name}, to flock -n", f"{ratio:.2f}", f"<= {bar}",
            ratio <= bar)

    turned_away()
    without_lock()

    out = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={DIR}/callgrind",
                          RLOCK, "-k", "k", "true"], env=ENV, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", out.stderr).group(1))
    row("uncontended: instructions, start to exit (to exec: fewer)", f"{instructions:,}",
        "<= 1,000,000", instructions <= 1_000_000)
