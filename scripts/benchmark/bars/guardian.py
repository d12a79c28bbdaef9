"""What the guardian costs a run: rlock next to the same rlock without."""

import os
import shutil
import subprocess
import sys

from measure import ratios
from world import DIR, HERE, RLOCK, TCP, UNIX, row


def guardian():
    without = build(f"{DIR}/without")
    os.sync()  # what the build wrote
    ways = {"a Unix socket": UNIX, "TCP loopback": TCP}
    seen = ratios(RLOCK, without, (["-S", server, "-k", "k", "--", "true"] for server in ways.values()), 300)
    for way, ratio in zip(ways, seen):
        row(f"guardian: wall time over {way}, to one without", f"{ratio:.2f}", "<= 1.10", ratio <= 1.10)


def build(place):
    root = os.path.abspath(f"{HERE}/../..")
    for part in ("src", "scripts", "man", "cmake", "CMakeLists.txt", "LICENSE"):
        whole = shutil.copytree if os.path.isdir(f"{root}/{part}") else shutil.copy
        os.makedirs(place, exist_ok=True)
        whole(f"{root}/{part}", f"{place}/{part}")
    shutil.copy(f"{HERE}/without_guardian.cpp", f"{place}/src/os/guardian.cpp")
    for part in ("line", "process"):
        open(f"{place}/src/os/guardian_{part}.cpp", "w").close()
    quietly("cmake", "-S", place, "-B", f"{place}/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            f"-DHIREDIS_ROOT={root}/build/hiredis")
    quietly("cmake", "--build", f"{place}/build")
    return f"{place}/build/rlock"


def quietly(*command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout}bench: {' '.join(command)} failed")
