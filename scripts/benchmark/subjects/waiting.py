"""The cost of a waiter: commands a second, processor, memory. Some wait for a while."""

import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from crowd import Crowd, GaveUp
from measure import cpu_ns, pss_kb, tree
from servers import meter, server

COUNT = 20
BASE = "rlock, Unix socket"  # flock's commands and processor are none


def observe(peer, seconds):
    """(commands a second, ms of CPU a second including the servers', PSS in KB), for each waiter."""
    with Crowd(peer) as crowd:
        crowd.hold()
        time.sleep(1.5)  # by then a holder has what a long job has
        alone = cost(peer, crowd, [], seconds / 2)
        crowd.gather(COUNT)
        time.sleep(5)  # heartbeats come every 10 s: let none of them be at the edge of what is seen
        together = cost(peer, crowd, crowd.waiters, seconds)
        pss = statistics.median(sum(pss_kb(pid) for pid in tree(each.pid)) for each in crowd.waiters)
        if crowd.gone():
            raise GaveUp("the wait ended before anybody released the lock")
        # The servers' work for the holder alone is not a cost of the waiters.
        commands, cpu = ((after - before) / COUNT for after, before in zip(together, alone))
        return max(commands, 0), max(cpu, 0) / 1e6, pss


def cost(peer, crowd, processes, seconds):
    def cpu():
        return (sum(cpu_ns(pid) for each in processes for pid in tree(each.pid))
                + (server(peer.server).cpu_ns() if peer.server else 0))
    with meter(peer.server, crowd.key) as wire:
        begin, before = time.monotonic(), cpu()
        time.sleep(seconds)
        used, passed = cpu() - before, time.monotonic() - begin
    return wire.count / passed, used / passed


def observe_each(peers, seconds):
    seen = {}
    for peer in peers:
        peer.cpu_ms = peer.pss_kb = 0
        try:
            seen[peer.name] = observe(peer, seconds)
            peer.cpu_ms, peer.pss_kb = seen[peer.name][1:]
        except GaveUp as gave_up:
            seen[peer.name] = gave_up
    return seen


def waiting(peers, results, quick):
    """Also tells the peers what they cost, for those subjects that have many of them. Those of one server
    come one after the other: who of them made it work could not be told otherwise."""
    groups = {}
    for peer in peers:
        groups.setdefault(peer.server, []).append(peer)
        if peer.server:
            server(peer.server)
    seen = {}
    with ThreadPoolExecutor(len(groups)) as pool:
        for each in pool.map(lambda group: observe_each(group, 4 if quick else 20), groups.values()):
            seen.update(each)
    for peer in peers:
        if isinstance(seen[peer.name], GaveUp):
            results.not_possible("commands", peer.name, COUNT, seen.pop(peer.name))
    for index, (subject, unit, base) in enumerate((("commands", "1/s", BASE), ("cpu", "ms/s", BASE),
                                                   ("memory", "KB", "flock"))):
        results.add_rounds(subject, COUNT, unit, [{peer.name: seen[peer.name][index] for peer in peers
                                                   if peer.name in seen}], base)


def unaffordable(peer, count):
    """Why so many of them cannot wait here, from what ten of them cost; None if they can."""
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    if not peer.pss_kb:
        return "what one of them costs could not be seen"
    memory, processors = count * peer.pss_kb, count * peer.cpu_ms / 1000
    if memory > available * 0.4:
        return f"{count} would take {memory / 2**20:.1f} GB of memory ({peer.pss_kb / 1024:.1f} MB each)"
    if processors > os.cpu_count():
        return f"{count} would take {processors:.1f} processors, of {os.cpu_count()}"
    return None
