"""kill -9: of the holder with its job, until the next one runs; of the holder alone, and its job."""

import os
import select
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from crowd import Crowd, GaveUp, await_fact, job_of
from measure import runs_of

TTL = 5
ORPHAN = TTL * 2  # how long the job of the holder takes


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def end_of(process, limit):
    """When the process of that descriptor was gone."""
    if not select.select([process], [], [], limit)[0]:
        raise GaveUp("the job never ended")
    return now_ns()


def kill_holder(peer, job_too):
    """A holder and one heir. Returns when the holder was killed, when the heir began and when the holder's
    job was gone, in ns."""
    with Crowd(peer, ttl=TTL) as crowd:
        crowd.holder = crowd.start("sleep", str(ORPHAN))
        await_fact(lambda: job_of(crowd.holder, "sleep"), 20, lambda: "nobody got the free lock")
        crowd.gather(1)
        time.sleep(TTL * 0.4)  # before any lease ends that nobody renews, and after the first renewal
        job = os.pidfd_open(job_of(crowd.holder, "sleep"))
        killed = now_ns()
        os.kill(crowd.holder.pid, signal.SIGKILL)  # first: or it would see its job's end and release
        if job_too:
            try:
                signal.pidfd_send_signal(job, signal.SIGKILL)
            except ProcessLookupError:
                pass
        gone = end_of(job, ORPHAN + 5)
        os.close(job)
        await_fact(lambda: os.path.getsize(crowd.log) > 0, 4 * TTL, lambda: "nobody took over")
        return killed, runs_of(crowd.log)[0][0], gone


def all_at_once(peers, results, subject, rounds, figure, job_too, base):
    """Nearly all of it is waiting, so all contestants do it at the same time."""
    seen, out = [{} for _ in range(rounds)], set()
    for values in seen:
        asked = [peer for peer in peers if peer.name not in out]
        with ThreadPoolExecutor(len(asked)) as pool:
            goes = [(peer, pool.submit(kill_holder, peer, job_too)) for peer in asked]
        for peer, go in goes:
            try:
                killed, began, gone = go.result()
                if began > killed:  # else this machine was so slow that the lease had ended before
                    values[peer.name] = figure(killed, began, gone) / 1e9 / TTL
            except GaveUp as gave_up:
                out.add(peer.name)
                results.not_possible(subject, peer.name, 1, gave_up)
    results.add_rounds(subject, 1, "TTL", seen, base)


def crash(peers, results, quick):
    """In TTLs: how long the lock of a holder that died with its job is kept from the next one."""
    all_at_once(peers, results, "takeover", 1 if quick else 3, lambda killed, began, _: began - killed,
                True, "rlock, Unix socket")


def orphan(peers, results, quick):
    """In TTLs: how long a dead holder's job and the next one ran side by side, had the next one no end."""
    all_at_once(peers, results, "overlap", 1 if quick else 2,
                lambda _, began, gone: max(gone - began, 0), False, None)
