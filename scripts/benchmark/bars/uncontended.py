"""One run of a free lock: commands, wall time, instructions."""

import re
import statistics
import subprocess

from measure import in_turns
from wire import Wire
from world import DIR, ENV, RLOCK, SOCKET, TCP, redis, row


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
    for index, name, bar in (1, "a Unix socket", 1.25), (2, "TCP loopback", 1.35):
        ratio = statistics.median(each[index] / each[0] for each in rounds)
        row(f"uncontended: wall time over {name}, to flock -n", f"{ratio:.2f}", f"<= {bar}",
            ratio <= bar)

    out = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={DIR}/callgrind",
                          RLOCK, "-k", "k", "true"], env=ENV, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", out.stderr).group(1))
    row("uncontended: instructions, start to exit (to exec: fewer)", f"{instructions:,}",
        "<= 1,000,000", instructions <= 1_000_000)
