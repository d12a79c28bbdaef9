"""What rlock costs, as ratios to flock(1) in the same run.

usage: bench.py RLOCK DIR PORT [uncontended|handoff|idle|takeover|gate|quorum]...
DIR, and below it the folders node1, node2 and node3, has redis.sock, of a private server that also listens on 127.0.0.1:PORT, and the program stamp.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

RLOCK, DIR, PORT = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
SOCKET, STAMP = f"{DIR}/redis.sock", f"{DIR}/stamp"
UNIX, TCP = f"unix://{SOCKET}", f"redis://127.0.0.1:{PORT}"
ENV = {"PATH": os.environ["PATH"], "LOGNAME": "bench", "RLOCK_SERVER": UNIX}


def redis(*words):
    return subprocess.run(["redis-cli", "-s", SOCKET, *words], capture_output=True, text=True,
                          check=True).stdout.strip()


def row(what, seen, bar, met):
    print(f"{what:<58} {seen:>14}   {bar:<12} {'ok' if met else 'MISSED'}", flush=True)


def start(*command):
    return subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("bench: gave up waiting")
        time.sleep(0.01)


class Wire:
    """The commands of clients, without those that scripts call, as MONITOR sees them."""

    def __enter__(self):
        self.log = f"{DIR}/monitor"
        self.file = open(self.log, "w")
        self.process = subprocess.Popen(["redis-cli", "-s", SOCKET, "monitor"], stdout=self.file)
        until(lambda: os.path.getsize(self.log) > 0)
        return self

    def __exit__(self, *_):
        redis("echo", "the-end")
        until(lambda: "the-end" in open(self.log, errors="replace").read())
        self.process.kill()
        self.process.wait()
        self.file.close()

    def commands(self):
        lines = open(self.log, errors="replace").read().splitlines()
        return [line for line in lines if " [0 " in line and " lua]" not in line
                and not re.search(r'\] "(?i:acl|echo|config|info|command|zcard|client)"', line)]


def in_turns(*commands, rounds=400):
    """Wall times in seconds, a list for each round: every command once a round, so that noise, the
    caches and the clock of the processor hit all alike; quote the median of the rounds' ratios."""
    null = os.open(os.devnull, os.O_RDWR)
    result = []
    for _ in range(rounds):
        times = []
        for command in commands:
            begin = time.perf_counter()
            pid = os.posix_spawnp(command[0], command, ENV,
                                  file_actions=[(os.POSIX_SPAWN_DUP2, null, 2)])
            _, status = os.waitpid(pid, 0)
            times.append(time.perf_counter() - begin)
            assert status == 0, command
        result.append(times)
    os.close(null)
    return result


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


def runs_of(log):
    with open(log) as file:
        lines = sorted((line.split() for line in file), key=lambda words: int(words[0]))
    return [(int(words[0]), int(words[1]), words[2]) for words in lines]


def chain(command, waiters, queued, order=lambda: None):
    """Gaps in ms between one job's end and the next one's start, and the tokens as they ran."""
    log = f"{DIR}/stamps"
    open(log, "w").close()
    gate = f"{DIR}/gate"
    open(gate, "w").close()
    holder = start(*command, "sh", "-c", f"while [ -e {gate} ]; do sleep 0.05; done")
    time.sleep(0.3)
    processes = [start(*command, STAMP, log, "10") for _ in range(waiters)]
    until(queued)
    expected = order()
    redis("config", "resetstat")
    with Wire() as wire:
        os.unlink(gate)
        for process in [holder, *processes]:
            process.wait()
    runs = runs_of(log)
    assert len(runs) == waiters, (len(runs), waiters)
    gaps = [(after[0] - before[1]) / 1e6 for before, after in zip(runs, runs[1:])]
    return gaps, [each[2] for each in runs], expected, len(wire.commands()) / waiters


def flock_waiting(waiters):
    def count():
        waiting = open("/proc/locks").read().count("->")
        return waiting >= waiters
    return count


def tokens_in_queue():
    out = subprocess.run([RLOCK, "inspect", "--json", "k"], env=ENV, capture_output=True, text=True)
    return [waiter["token"] for waiter in json.loads(out.stdout)["waiters"]]


def handoff():
    rlock = [RLOCK, "-q", "-k", "k", "-w", "forever", "--"]
    flock = ["flock", f"{DIR}/file"]
    fifo = True
    # Two waiters make one gap between stamped jobs: the least that can be measured like this.
    for waiters, repeats in (2, 20), (10, 5), (100, 2), (500, 1):
        gaps_rlock, gaps_flock, commands = [], [], []
        for _ in range(repeats):
            gaps_flock += chain(flock, waiters, flock_waiting(waiters))[0]
            gaps, ran, expected, per_handoff = chain(
                rlock, waiters, lambda: int(redis("zcard", "{k}:rlock:queue")) == waiters,
                tokens_in_queue)
            gaps_rlock += gaps
            commands.append(per_handoff)
            fifo = fifo and ran == expected
        ratio = statistics.median(gaps_rlock) / statistics.median(gaps_flock)
        name = f"hand-off, {waiters if waiters > 2 else 1} waiting"
        row(f"{name}: to flock's ({statistics.median(gaps_rlock):.2f} ms)", f"{ratio:.2f}",
            "<= 1.5", ratio <= 1.5)
        most = max(commands)
        row(f"{name}: client commands each", f"{most:.1f}", "<= 10", most <= 10)
    row("hand-off: order of the queue kept", "always" if fifo else "NO", "always", fifo)


def pss_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))


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
    pss = statistics.median(pss_kb(process.pid) for process in processes)
    row("idle waiter: PSS in KB, 20 waiting", f"{pss:.0f}", "<= 300", pss <= 300)
    for process in [*processes, holder]:
        process.send_signal(signal.SIGTERM)
        process.wait()


def takeover():
    """After the last refresh plus the TTL nobody can be the holder: from then on it is idle time."""
    late = []
    for ttl in [1.0] * 10 + [3.0] * 3:
        log = f"{DIR}/stamps"
        open(log, "w").close()
        holder = start(RLOCK, "-k", "k", "-t", str(ttl), "--", "sleep", "1000")
        time.sleep(0.2)
        heir = start(RLOCK, "-q", "-k", "k", "-w", "forever", STAMP, log, "0")
        until(lambda: int(redis("zcard", "{k}:rlock:queue")) == 1)
        time.sleep(ttl * 0.6)
        holder.kill()
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        holder.wait()
        heir.wait()
        late.append((runs_of(log)[0][0] - killed) / 1e6 - ttl * 1000)
    row("takeover after kill -9: the worst, beyond the TTL, in ms", f"{max(late):.0f}", "<= 50",
        max(late) <= 50)


def gate():
    """The holder has two connections, because its job lasts longer than a second."""
    def connections():
        return sum("cmd=client" not in line for line in redis("client", "list").splitlines())

    holder = start(RLOCK, "-k", "k", "-t", "1h", "--", "sleep", "1000")
    until(lambda: connections() == 2)
    waiters = [start(RLOCK, "-q", "-k", "k", "-w", "forever", "--local-gate", "true")
               for _ in range(200)]
    until(lambda: all(int(open(f"/proc/{each.pid}/stat").read().split()[21]) for each in waiters))
    time.sleep(3)
    seen = connections() - 2
    row("local gate: connections of 200 that wait on one host", str(seen), "= 1", seen == 1)
    holder.terminate()
    for each in [holder, *waiters]:
        each.wait()


def quorum():
    """One of three servers is stopped for every second run."""
    nodes = [f"{DIR}/node{number}" for number in (1, 2, 3)]
    victim = int(open(f"{nodes[2]}/pid").read())
    command = [RLOCK, *[word for node in nodes for word in ("-S", f"unix://{node}/redis.sock")],
               "-k", "k", "--", "true"]
    ratios = []
    for _ in range(100):
        healthy = in_turns(command, rounds=1)[0][0]
        os.kill(victim, signal.SIGSTOP)
        ratios.append(in_turns(command, rounds=1)[0][0] / healthy)
        os.kill(victim, signal.SIGCONT)
        # It takes what came meanwhile; the next run is not to wait for that.
        until(lambda: subprocess.run(["redis-cli", "-s", f"{nodes[2]}/redis.sock", "exists", "k"],
                                     capture_output=True, text=True).stdout == "0\n")
    ratio = statistics.median(ratios)
    row("quorum: one of three silent, to all three healthy", f"{ratio:.2f}", "<= 1.5", ratio <= 1.5)


if __name__ == "__main__":
    print(f"{'what':<58} {'seen':>14}   {'bar':<12}")
    known = {"uncontended": uncontended, "handoff": handoff, "idle": idle, "takeover": takeover,
             "gate": gate, "quorum": quorum}
    for name in sys.argv[4:] or known:
        known[name]()
