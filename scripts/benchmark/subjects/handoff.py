"""From one job's end to the next one's start; and how long the turn of the one in the middle takes."""

import statistics

from crowd import Crowd, GaveUp
from measure import gaps_ms, shuffled
from subjects.waiting import unaffordable


def one_turn_each(peer, count, job_ms):
    with Crowd(peer) as crowd:
        crowd.hold()
        crowd.gather(count, job_ms)
        return crowd.open_gate(20 + count * 0.05)


def in_rounds(subject, peers, results, count, rounds, unit, figure, job_ms):
    """figure(runs): the result of one round. A contestant that fails once is not asked again."""
    seen, out = [], set()
    for _ in range(rounds):
        values = {}
        for peer in shuffled(peers):
            if peer.name in out:
                continue
            try:
                why = unaffordable(peer, count)
                if not why:
                    values[peer.name] = figure(one_turn_each(peer, count, job_ms))
            except GaveUp as gave_up:
                why = gave_up
            if why:
                out.add(peer.name)
                results.not_possible(subject, peer.name, count, why)
        seen.append(values)
    results.add_rounds(subject, count, unit,
                       [{peer.name: each[peer.name] for peer in peers
                         if peer.name in each and peer.name not in out} for each in seen], "flock")


def middle_gap(runs):
    return statistics.median(gaps_ms(runs))


def middle_wait(runs):
    """From the holder's end to the start of the one in the middle, in ms."""
    return statistics.median((run[0] - runs[0][1]) / 1e6 for run in runs[1:])


def handoff(peers, results, quick, most):
    steps = ((1, 2), (10, 1)) if quick else ((1, 9), (10, 5), (100, 2), (500, 1))
    for count, rounds in steps:
        if count <= most:
            in_rounds("handoff", peers, results, count, rounds, "ms", middle_gap, 5)


def load(peers, results, quick, most):
    steps = ((20, 1),) if quick else ((100, 2), (500, 1), (1000, 1), (2000, 1))
    for count, rounds in steps:
        if count <= most:
            in_rounds("load", peers, results, count, rounds, "ms", middle_wait, 0)
