"""The costs of rlock on PostgreSQL: next to psql on the same socket, and to flock(1)."""

import statistics
import subprocess
import time

from chain import CROWDS, FLOCK, handoffs, shown
from measure import in_turns
from servers import server
from world import DIR, RLOCK, row, start, until

WAITERS_AT_GATE, CONNECTIONS_AT_GATE = 200, 100
REST = 84  # s, in which the statements of waiters are counted: three of their longest pauses


def directory():
    return server("postgres").told[0].split("host=")[1].split("&")[0]


def psql(statement):
    port = server("postgres").told[0].split("port=")[1]
    return ["psql", "-qAtX", "-h", directory(), "-p", port, "-U", "postgres", "-c", statement, "postgres"]


def asked(statement):
    return subprocess.run(psql(statement), capture_output=True, text=True, check=True).stdout.strip()


def at_postgres(*words):
    return [RLOCK, "-S", server("postgres").told[0], "-q", "-k", "k", *words, "--"]


def in_line(count):
    """A record has a line for each that waits."""
    return lambda: asked("select count(*) from rlock.lock, regexp_split_to_table(convert_from(record, 'UTF8'), E'\\n') line "
                         "where line like E'wait\\t%'") == str(count)


def clients():
    return int(asked("select count(*) from pg_stat_activity where application_name = 'rlock'"))


def a_run():
    subprocess.run(at_postgres()[:-1] + ["--", "true"], check=True)  # makes the tables
    rounds = in_turns(psql("select 1"), [*at_postgres(), "true"], ["flock", "-n", f"{DIR}/file", "true"], rounds=200)
    ratio = statistics.median(each[1] / each[0] for each in rounds)
    row("postgres: wall time of a run, to psql -c 'select 1'", f"{ratio:.2f}", "<= 2.2", ratio <= 2.2)
    ratio = statistics.median(each[1] / each[2] for each in rounds)
    row("postgres: wall time of a run, to flock -n", f"{ratio:.1f}", "-", True)


def in_turn():
    for waiters, repeats in CROWDS[:3]:
        ms = handoffs(waiters, repeats, {"flock": FLOCK, "rlock": (at_postgres("-w", "forever"), in_line)})
        ratio = ms["rlock"] / ms["flock"]
        row(f"postgres: hand-off, {shown(waiters)}, to flock's ({ms['rlock']:.1f} ms)", f"{ratio:.2f}", "<= 4", ratio <= 4)


def statements_of_waiters():
    holder = start(*at_postgres("-t", "1h"), "sleep", "1000")
    until(lambda: clients() >= 1)
    waiters = [start(*at_postgres("-w", "forever"), "true") for _ in range(10)]
    until(in_line(10))
    time.sleep(12)  # a server process that rests tells of its transactions after ten seconds

    def transactions():
        return int(asked("select pg_stat_clear_snapshot() is null or xact_commit + xact_rollback > 0, xact_commit + xact_rollback "
                         "from pg_stat_database where datname = 'postgres'").split("|")[1])
    before = transactions()
    time.sleep(REST)
    # The last question is not counted yet; the one before is.
    rate = (transactions() - before - 1) / REST / len(waiters)
    row("postgres: statements a second of one that waits", f"{rate:.2f}", "<= 0.1", rate <= 0.1)
    for each in [*waiters, holder]:
        each.terminate()
        each.wait()


def at_gate():
    holder = start(*at_postgres("-t", "1h"), "sleep", "1000")
    until(lambda: clients() == 2, "the holder's two connections")
    said = f"{DIR}/gate.err"
    words = at_postgres("-w", "forever", "--local-gate")
    words.remove("-q")
    with open(said, "w") as errors:
        waiters = [start(*words, "true", stderr=errors) for _ in range(WAITERS_AT_GATE)]
    until(lambda: open(said).read().count("waiting for") >= WAITERS_AT_GATE, "all to say that they wait")
    until(lambda: clients() == 3, "the one that waits at the server")
    row(f"postgres: connections of {WAITERS_AT_GATE} behind --local-gate", str(clients() - 2), f"< {CONNECTIONS_AT_GATE}",
        clients() - 2 < CONNECTIONS_AT_GATE)
    for each in [holder, *waiters]:
        each.terminate()
    codes = {each.wait() for each in [holder, *waiters]}
    assert codes <= {143, -15, 0}, codes


def postgres_bars():
    a_run()
    in_turn()
    statements_of_waiters()
    at_gate()
