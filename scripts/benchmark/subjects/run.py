"""One run of a free lock, around `true`: what it takes."""

from measure import in_turns


def run(peers, results, quick):
    commands = [[*peer.run("run"), "true"] for peer in peers]
    in_turns(*commands, rounds=2)  # the servers know the scripts, the files are in memory
    rounds = [{peer.name: seconds * 1000 for peer, seconds in zip(peers, times)}
              for times in in_turns(*commands, rounds=10 if quick else 60, shuffle=True)]
    results.add_rounds("run", 1, "ms", rounds, "flock")
