"""What one costs that waits, and does nothing else."""

import signal
import statistics
import time

from measure import dirty_kb, pss_kb
from wire import Wire
from world import RLOCK, redis, row, start, until


def idle():
    waiters, seconds = 20, 60
    holder = start(RLOCK, "-k", "k", "--", "sleep", "1000")
    time.sleep(0.3)
    processes = [start(RLOCK, "-q", "-k", "k", "-w", "forever", "true") for _ in range(waiters)]
    until(lambda: int(redis("zcard", "{k}:rlock:queue")) == waiters)
    time.sleep(2)
    with Wire() as wire:
        time.sleep(seconds)
    own = [line for line in wire.commands() if "mail:" in line]
    # The holder's refreshes carry the prefix of its mailbox, too: two in ten seconds, with BLPOP.
    rate = len(own) / seconds / waiters
    row("idle waiter: commands a second", f"{rate:.2f}", "<= 0.2", rate <= 0.2)
    dirty = statistics.median(dirty_kb(process.pid) for process in processes)
    row("idle waiter: dirty memory in KB, 20 waiting", f"{dirty:.0f}", "<= 110", dirty <= 110)
    pss = statistics.median(pss_kb(process.pid) for process in processes)
    row("idle waiter: PSS in KB, 20 waiting", f"{pss:.0f}", "<= 200", pss <= 200)
    for process in [*processes, holder]:
        process.send_signal(signal.SIGTERM)
        process.wait()
