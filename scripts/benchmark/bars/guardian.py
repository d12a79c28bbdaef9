"""What the guardian costs a run: rlock next to the same rlock without."""

import os
import shutil
import statistics
import subprocess
import tempfile

from measure import in_turns
from world import DIR, HERE, RLOCK, TCP, UNIX, row

# How a file lies in the page cache makes a run of it 7 % slower or faster; in memory all pages are alike.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
COPIES = 3
# Beside a neighbour that takes the processors, the waits for them are compared, and not the programs. Of all rounds,
# each the same number of runs of both, those count that took the least time as a whole.
CALMEST = 1 / 3


def guardian():
    without = build(f"{DIR}/without")
    os.sync()  # what the build wrote
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        programs = [shutil.copy(program, f"{memory}/{name}{n}")
                    for n in range(COPIES) for name, program in (("without", without), ("with", RLOCK))]
        for way, server in ("a Unix socket", UNIX), ("TCP loopback", TCP):
            rounds = in_turns(*([each, "-S", server, "-k", "k", "--", "true"] for each in programs), rounds=300)
            calm = sorted(rounds, key=sum)[:int(len(rounds) * CALMEST)]
            ratio = statistics.median(sum(each[1::2]) / sum(each[0::2]) for each in calm)
            row(f"guardian: wall time over {way}, to one without", f"{ratio:.2f}", "<= 1.10", ratio <= 1.10)


def build(place):
    root = os.path.abspath(f"{HERE}/../..")
    for part in ("src", "scripts", "man", "CMakeLists.txt"):
        whole = shutil.copytree if os.path.isdir(f"{root}/{part}") else shutil.copy
        os.makedirs(place, exist_ok=True)
        whole(f"{root}/{part}", f"{place}/{part}")
    shutil.copy(f"{HERE}/without_guardian.cpp", f"{place}/src/os/guardian.cpp")
    quietly("cmake", "-S", place, "-B", f"{place}/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            f"-DHIREDIS_ROOT={root}/build/hiredis")
    quietly("cmake", "--build", f"{place}/build")
    return f"{place}/build/rlock"


def quietly(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
