"""Jobs a second, each key with a loop of its own."""

import os
import subprocess
import time

from measure import shuffled
from world import DIR, ENV

LOOP = 'while [ -e "$GO" ]; do "$@" true && printf x; done'


def jobs_a_second(peer, keys, seconds):
    go, done = f"{DIR}/go", f"{DIR}/done"
    open(go, "w").close()
    with open(done, "w") as out:
        begin = time.monotonic()
        loops = [subprocess.Popen(["sh", "-c", LOOP, "sh", *peer.run(f"loop{number}")],
                                  env={**ENV, "GO": go}, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=subprocess.DEVNULL)
                 for number in range(keys)]
        time.sleep(seconds)
        os.unlink(go)
        for each in loops:
            each.wait()
        passed = time.monotonic() - begin
    return os.path.getsize(done) / passed


def throughput(peers, results, quick):
    for keys in (1, 4, 16):
        rounds = []
        for _ in range(1 if quick else 3):
            seen = {peer.name: jobs_a_second(peer, keys, 0.5 if quick else 1) for peer in shuffled(peers)}
            rounds.append({peer.name: seen[peer.name] for peer in peers})
        results.add_rounds("throughput", keys, "1/s", rounds, "flock")
