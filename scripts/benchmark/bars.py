"""The bars that rlock must meet, a function for each in BARS: costs as ratios to flock(1) in the same run."""

import itertools
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from chain import CROWDS, FLOCK, chain, handoffs, redis_waiting, shown
from etcd import etcd_bars
from measure import children, dirty_kb, in_turns, pss_kb, ratios, ratios_to_flock, runs_of, tree
from postgres import postgres_bars
from smallest import smallest, smallest_waiting
from tls import tls_bars
from wire import Wire
from world import DIR, ENV, HERE, RLOCK, SOCKET, STAMP, TCP, UNIX, redis, row, start, until


# ---- uncontended: One run of a free lock: commands, wall time, instructions. And of one that is held, or of none.

def turned_away():
    holders = [start("flock", f"{DIR}/file", "sleep", "1000"), start(RLOCK, "-k", "k", "--", "sleep", "1000")]
    until(lambda: redis("exists", "k") == "1")
    redis("set", "floor", "held")
    until(lambda: subprocess.run(["flock", "-n", f"{DIR}/file", "true"]).returncode == 1)
    rounds = in_turns(["flock", "-n", "-E", "0", f"{DIR}/file", "true"], [RLOCK, "-q", "-E", "0", "-k", "k", "--", "true"],
                      smallest("once", "true"))
    redis("del", "floor")
    for each in holders:
        os.kill(children(each.pid)[0] if each is holders[0] else each.pid, signal.SIGTERM)
    for each in holders:
        each.wait()
    ratios_to_flock("busy: one attempt that is turned away", rounds, {"": 1.1, ", smallest client": None})


def without_lock():
    for words in ["--help"], ["--version"]:
        rounds = in_turns(["true"], [RLOCK, *words])
        ratio = statistics.median(each[1] / each[0] for each in rounds)
        row(f"rlock {' '.join(words)}, to true", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2)


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
                      [RLOCK, "-S", TCP, "-k", "k", "--", "true"], smallest("once", "true"))
    ratios_to_flock("uncontended: wall time over ", rounds,
                    {"a Unix socket": 1.15, "TCP loopback": 1.3, "a Unix socket, smallest client": None})

    turned_away()
    without_lock()

    out = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={DIR}/callgrind",
                          RLOCK, "-k", "k", "true"], env=ENV, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", out.stderr).group(1))
    row("uncontended: instructions, start to exit (to exec: fewer)", f"{instructions:,}",
        "<= 1,000,000", instructions <= 1_000_000)


# ---- handoff: From one job's end to the next one's start, with many waiting.

def tokens_in_queue():
    out = subprocess.run([RLOCK, "inspect", "--json", "k"], env=ENV, capture_output=True, text=True)
    return [waiter["token"] for waiter in json.loads(out.stdout)["waiters"]]


def handoff():
    """Nobody listens to the server while times are taken; one more chain shows the commands and the order."""
    rlock = [RLOCK, "-q", "-k", "k", "-w", "forever", "--"]
    floors = {"the smallest client": "late", "and its job forked before the turn": "early"}
    contestants = {"flock": FLOCK, "rlock": (rlock, redis_waiting),
                   **{name: (smallest(way), smallest_waiting) for name, way in floors.items()}}
    fifo = True
    for waiters, repeats in CROWDS:
        ms = handoffs(waiters, repeats, contestants)
        ratio = ms["rlock"] / ms["flock"]
        name = f"hand-off, {shown(waiters)}"
        row(f"{name}: to flock's ({ms['rlock']:.2f} ms)", f"{ratio:.2f}", "<= 1.4", ratio <= 1.4)
        for floor in floors:
            row(f"{name}: {floor}", f"{ms[floor] / ms['flock']:.2f}", "-", True)
        turns = chain(rlock, waiters, redis_waiting(waiters), tokens_in_queue, watch=Wire)
        each = len(turns.watch.commands()) / waiters
        row(f"{name}: client commands each", f"{each:.1f}", "<= 10", each <= 10)
        fifo = fifo and turns.tokens() == turns.expected
    row("hand-off: order of the queue kept", "always" if fifo else "NO", "always", fifo)


# ---- idle: The cost of a waiter that does nothing else.

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
    # The holder's refreshes also contain the prefix of its mailbox: two in ten seconds, with BLPOP.
    rate = len(own) / seconds / waiters
    row("idle waiter: commands a second", f"{rate:.2f}", "<= 0.2", rate <= 0.2)
    dirty = statistics.median(dirty_kb(process.pid) for process in processes)
    row("idle waiter: dirty memory in KB, 20 waiting", f"{dirty:.0f}", "<= 110", dirty <= 110)
    pss = statistics.median(pss_kb(process.pid) for process in processes)
    row("idle waiter: PSS in KB, 20 waiting", f"{pss:.0f}", "<= 200", pss <= 200)
    for process in [*processes, holder]:
        process.send_signal(signal.SIGTERM)
        process.wait()


# ---- takeover: The lock of a holder that was killed.

def takeover():
    takeover_row("takeover after kill -9")
    takeover_row("a slot's spare after its runner's host died", "--slot", "s")


def takeover_row(what, *slot):
    """After the last refresh plus the TTL nobody can be the holder: from then on it is idle time."""
    late = []
    for ttl in [1.0] * 10 + [3.0] * 3:
        log = f"{DIR}/stamps"
        open(log, "w").close()
        redis("del", "{k}:rlock:slot:s")
        holder = start(RLOCK, "-k", "k", *slot, "-t", str(ttl), "--", "sleep", "1000")
        time.sleep(0.2)
        heir = start(RLOCK, "-q", "-k", "k", *slot, "-w", "forever", STAMP, log, "0")
        until(lambda: int(redis("zcard", "{k}:rlock:queue")) == 1)
        time.sleep(ttl * 0.6)
        for pid in tree(holder.pid) if slot else [holder.pid]:
            os.kill(pid, signal.SIGKILL)
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        holder.wait()
        heir.wait()
        late.append((runs_of(log)[0][0] - killed) / 1e6 - ttl * 1000)
    row(f"{what}: the worst, beyond the TTL, in ms", f"{max(late):.0f}", "<= 50",
        max(late) <= 50)


# ---- share: A slot whose run ends, and all who wait for it with --share.

SHARED_CODE = 7
SHARE_SIZES = (10, 100, 1000)


def leave_together(waiters):
    """Exit codes; ms from the job's end to that of the first waiter, and from there to that of the last."""
    key = f"share{waiters}"
    gate, held, over = (f"{DIR}/{key}.{each}" for each in ("gate", "held", "over"))
    command = [RLOCK, "-q", "-k", key, "--slot", "s", "--share", "-w", "forever", "--"]
    open(gate, "w").close()
    # It says when it ends, which is when the gate opens.
    holder = start(*command, "sh", "-c", f": >{held}; while [ -e {gate} ]; do sleep 0.02; done; : >{over}; exit {SHARED_CODE}")
    until(lambda: os.path.exists(held), "the holder's job")
    processes = {}
    for _ in range(waiters):
        process = start(*command, "false")
        processes[process.pid] = process
    until(lambda: int(redis("zcard", f"{{{key}}}:rlock:queue")) == waiters, "the queue", 60 + waiters)
    time.sleep(1)  # who has just come into the queue is about to sleep
    os.unlink(gate)
    ends, codes = [], set()
    while processes:
        pid, status = os.wait()
        if pid in processes:
            ends.append(time.time_ns())
            codes.add(os.waitstatus_to_exitcode(status))
            processes.pop(pid).returncode = 0
        elif pid == holder.pid:
            holder.returncode = 0
            codes.add(os.waitstatus_to_exitcode(status))
    if holder.returncode is None:
        holder.wait()
    job = os.stat(over).st_mtime_ns
    return codes, (ends[0] - job) / 1e6, (ends[-1] - ends[0]) / 1e6


def share():
    """They are told at once, so it costs no hand-off for each."""
    handoff = statistics.median(chain([RLOCK, "-q", "-k", "k", "-w", "forever", "--"], 10, redis_waiting(10)).gaps())
    for waiters in SHARE_SIZES:
        codes, first, spread = leave_together(waiters)
        bar = 1.5 * handoff + waiters
        row(f"share, {waiters} waiting: from the first's end to the last's, in ms", f"{spread:.0f}", f"<= {bar:.0f}", spread <= bar)
        row(f"share, {waiters} waiting: from the job's end to the first's, in ms", f"{first:.0f}", "<= 20", first <= 20)
        row(f"share, {waiters} waiting: their exit codes", " ".join(map(str, sorted(codes))), f"{SHARED_CODE}", codes == {SHARED_CODE})


# ---- gate: --local-gate: many that wait on one host, and one of them at the server.

BEHIND_GATE = 200


def connections():
    return sum("cmd=client" not in line for line in redis("client", "list").splitlines())


def gate():
    """The holder has two connections, because its job lasts longer than a second."""
    holder = start(RLOCK, "-k", "k", "-t", "1h", "--", "sleep", "1000")
    until(lambda: connections() == 2, "the holder's two connections")
    said = f"{DIR}/gate.err"
    with open(said, "w") as errors:
        waiters = [start(RLOCK, "-k", "k", "-w", "forever", "--local-gate", "true", stderr=errors)
                   for _ in range(BEHIND_GATE)]
    until(lambda: open(said).read().count("waiting for") >= BEHIND_GATE, "all to say that they wait")
    until(lambda: connections() == 3, "the one that waits at the server")
    # All of them wait: from now on none has a reason to connect. Look for a second whether one does.
    most = 0
    end = time.monotonic() + 1
    while time.monotonic() < end:
        most = max(most, connections() - 2)
    row(f"local gate: connections of {BEHIND_GATE} that wait on one host", str(most), "= 1", most == 1)
    holder.terminate()
    for each in [holder, *waiters]:
        each.wait()
    os.unlink(said)


# ---- quorum: Several servers: a run, a hand-off, what one sends that waits; and runs while servers are silent.

QUORUM_ROUNDS = 31
NODES = [f"{DIR}/node{number}" for number in range(1, 6)]


def at_nodes(nodes):
    return [RLOCK, *[word for node in nodes for word in ("-S", f"unix://{node}/redis.sock")], "-q", "-k", "k"]


def asked(node, *command):
    return subprocess.run(["redis-cli", "-s", f"{node}/redis.sock", *command], capture_output=True, text=True).stdout


def is_free_at(node):
    """It takes what came while it was stopped; the next run is not to wait for that."""
    return asked(node, "exists", "k") == "0\n"


def run_and_handoff():
    three = NODES[:3]
    rounds = in_turns(["flock", "-n", f"{DIR}/file", "true"], [*at_nodes(three), "--", "true"])
    ratios_to_flock("quorum of 3: wall time of a run", rounds, {"": 1.7})

    def in_line(count):
        return lambda: all(asked(node, "zcard", "{k}:rlock:queue") == f"{count}\n" for node in three)
    for waiters, repeats in CROWDS:
        ms = handoffs(waiters, repeats, {"flock": FLOCK, "rlock": ([*at_nodes(three), "-w", "forever", "--"], in_line)})
        ratio = ms["rlock"] / ms["flock"]
        row(f"quorum of 3: hand-off, {shown(waiters)}, to flock's", f"{ratio:.2f}", "<= 2.5", ratio <= 2.5)


def commands_of_a_waiter(seconds=30):
    three = NODES[:3]
    holder = start(*at_nodes(three), "-t", "1h", "--", "sleep", "1000")
    until(lambda: not any(is_free_at(node) for node in three))
    waiter = start(*at_nodes(three), "-w", "forever", "--", "true")
    until(lambda: all(asked(node, "zcard", "{k}:rlock:queue") == "1\n" for node in three))
    time.sleep(1)

    def heard():
        lines = "".join(asked(node, "info", "commandstats") for node in three).splitlines()
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines
                   if line.startswith(("cmdstat_eval", "cmdstat_blpop")))
    before = heard()
    time.sleep(seconds)
    rate = (heard() - before) / seconds
    row("quorum of 3: commands a second of one that waits, on all", f"{rate:.2f}", "<= 1", rate <= 1)
    for each in waiter, holder:
        each.send_signal(signal.SIGTERM)
        each.wait()
    until(lambda: all(is_free_at(node) for node in three))


def silence(nodes, victims):
    """A run while the victims are silent, and while all are healthy, in ms."""
    command = [*at_nodes(nodes), "--", "true"]
    healthy = in_turns(command, rounds=1)[0][0]
    pids = [int(open(f"{node}/pid").read()) for node in victims]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        silent = in_turns(command, rounds=1)[0][0]
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    until(lambda: all(is_free_at(node) for node in nodes))
    return 1000 * silent, 1000 * healthy


def silent_servers(nodes, count):
    sets = list(itertools.combinations(nodes, count))
    seen = {victims: [] for victims in sets}
    for _ in range(max(5, QUORUM_ROUNDS // len(sets))):
        for victims in sets:
            seen[victims].append(silence(nodes, victims))
    usual = statistics.median(healthy for times in seen.values() for _, healthy in times)
    slow = max(statistics.median(silent for silent, _ in times) for times in seen.values())
    row(f"quorum of {len(nodes)}: any {count} silent, the worst, ms to all healthy", f"{slow:.1f} / {usual:.1f}",
        "3.0 x + 5 ms", slow <= 3 * usual + 5)


def quorum():
    run_and_handoff()
    commands_of_a_waiter()
    silent_servers(NODES[:3], 1)
    silent_servers(NODES, 1)
    silent_servers(NODES, 2)


# ---- crowd: Ten thousand that wait for one lock on one server: in order, and none is lost.

CROWD = 10_000
CROWD_LIMIT = 600  # s; to start them, and for their turns


def crowd():
    log, gate = f"{DIR}/stamps", f"{DIR}/gate"
    for each in log, gate:
        open(each, "w").close()
    holder = start(RLOCK, "-k", "k", "--", "sh", "-c", f"while [ -e {gate} ]; do sleep 0.05; done")
    until(lambda: redis("exists", "k") == "1", "the holder")
    waiters = []
    for number in range(CROWD):
        waiters.append(start(RLOCK, "-q", "-k", "k", "-w", "forever", "--", STAMP, log, "0"))
        # As many at once as the server's queue for connections takes.
        if number % 100 == 99:
            until(lambda: int(redis("zcard", "{k}:rlock:queue")) >= number - 100, "those before", CROWD_LIMIT)
    until(lambda: int(redis("zcard", "{k}:rlock:queue")) == CROWD, "all to stand in line", CROWD_LIMIT)
    out = subprocess.run([RLOCK, "inspect", "--json", "k"], env=ENV, capture_output=True, text=True)
    expected = [each["token"] for each in json.loads(out.stdout)["waiters"]]
    os.unlink(gate)
    codes = [each.wait() for each in [holder, *waiters]]
    runs = runs_of(log)
    in_order = [each[2] for each in runs] == expected
    row(f"{CROWD:,} wait on one server: had their turn, in order", f"{len(runs):,}, {'yes' if in_order else 'NO'}",
        f"= {CROWD:,}", in_order and len(runs) == CROWD and not any(codes))
    seconds = (runs[-1][0] - runs[0][1]) / 1e9
    row(f"{CROWD:,} wait on one server: hand-offs a second", f"{len(runs) / seconds:.0f}", "-", True)


# ---- guardian: The cost of the guardian for a run: rlock next to the same rlock without one.

def guardian():
    without = build_without_guardian(f"{DIR}/without")
    os.sync()  # what the build wrote
    ways = {"a Unix socket": UNIX, "TCP loopback": TCP}
    seen = ratios(RLOCK, without, (["-S", server, "-k", "k", "--", "true"] for server in ways.values()), 300)
    for way, ratio in zip(ways, seen):
        row(f"guardian: wall time over {way}, to one without", f"{ratio:.2f}", "<= 1.10", ratio <= 1.10)


def build_without_guardian(place):
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


# ---- against: Another rlock next to this one: whether a change made a run slower, to 3 %. Both are to be linked in the same way.

AGAINST_ROUNDS = 200  # 600 runs of each


def against():
    redis("set", "busy", "somebody")
    ways = {"a run over a Unix socket": ["-S", UNIX, "-k", "k", "--", "true"],
            "a run over TCP loopback": ["-S", TCP, "-k", "k", "--", "true"],
            "turned away by a busy lock": ["-q", "-S", UNIX, "-E", "0", "-k", "busy", "--", "true"],
            "a run in a directory": ["-S", f"file:{DIR}/locks", "-k", "k", "--", "true"]}
    seen = ratios(RLOCK, os.environ["BENCH_AGAINST"], ways.values(), AGAINST_ROUNDS)
    for way, ratio in zip(ways, seen):
        row(f"against: {way}, to the other's", f"{ratio:.3f}", "<= 1.030", ratio <= 1.03)


# ---- postgres: a run, a hand-off and a waiter on PostgreSQL.

def postgres():
    postgres_bars()


# ---- etcd: a run and a hand-off on etcd, and a run on ZooKeeper.

def etcd():
    etcd_bars()


# ---- tls: a run over TLS, and what of it is OpenSSL's.

def tls():
    tls_bars()


# ---- library: a lock and its release in a program that is connected, next to the same two commands alone.

def library():
    """Of five runs of 2,000 rounds in turns, the one in the middle."""
    build = os.path.join(HERE, "../../build/release")
    quietly("cmake", "--build", build, "--target", "library-bench")
    seen = []
    for _ in range(5):
        lines = subprocess.run([f"{build}/library-bench", SOCKET, "2000"], check=True, capture_output=True, text=True)
        seen.append({name: float(median) for name, median, *_ in map(str.split, lines.stdout.splitlines())})
    ratio = statistics.median(each["library"] / each["bare"] for each in seen)
    row("library: acquire and release, to its two commands", f"{ratio:.2f}", "<= 1.15", ratio <= 1.15)
    for other in sorted(set(seen[0]) - {"library", "bare"}):
        ratio = statistics.median(each["library"] / each[other] for each in seen)
        row(f"library: the same, to {other}", f"{ratio:.2f}", "", True)
    microseconds = statistics.median(each["library"] for each in seen)
    row("library: the same, in microseconds", f"{microseconds:.0f}", "", True)


BARS = {each.__name__: each
        for each in (uncontended, handoff, idle, takeover, share, gate, quorum, postgres, etcd, tls, library, crowd, guardian,
                     against)}
