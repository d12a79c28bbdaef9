"""Exit codes and status files: whether rlock said what was."""

from gaps import ONE_AWAY, SERVER_FAULTS
from history import SECOND

# A fault's end is noted when it is over for all; who asked just before was not answered.
SLACK = SECOND
# A lock without users for that long is free: the longest lease, and the claims of the dead.
RECENT = 31 * SECOND
# Within this a process has begun to take signals. Before that the kernel's default ends it, as any program.
STARTING = SECOND // 10


def check_exits(history, counts):
    for run in history.runs.values():
        if run.end is None:
            yield f"{run.name} never ended"
            continue
        counts[f"exit {run.exit_code}"] = counts.get(f"exit {run.exit_code}", 0) + 1
        for lie in lies_of(history, run):
            yield f"{run.name}, exit {run.exit_code}, status {run.status}: {lie}"


def lies_of(history, run):
    code, section, kinds = run.exit_code, run.section, {fault.kind for fault in run.faults}
    if code == -9:
        return [] if "kill-rlock" in kinds else ["nobody killed it"]
    if code == -15:
        early = any(fault.kind == "time-out" and fault.begin < run.begin + STARTING for fault in run.faults)
        return [] if early and not section else ["it did not take a TERM as its own end"]
    status = run.status or {}
    lies = []
    if status.get("exit_code") != code:
        lies.append("the status file says something else")
    if section and (status.get("fence"), status.get("token")) != (section.fence, section.token):
        lies.append("its job was told of another grant")
    done = run.found_done()
    if done:
        if section:
            lies.append("it found the slot done, and its job did run")
        if code != (exit_code_of(done) if run.shares else 0):
            lies.append("not the code of the run that it found")
        return lies
    if code == 137:
        if not kinds & {"kill-job", "kill-guardian"}:
            lies.append("nobody killed its job")
    elif code == 143:
        if "time-out" not in kinds:
            lies.append("nobody terminated it")
    elif code == 76:
        lies += lies_of_the_lost(history, run, status)
    elif code in (75, 69):
        lies += lies_of_the_refused(history, run, status)
    elif not section or section.code != code:
        lies.append("its job did not end so")
    if section and section.code == code and status.get("outcome") != "ran":
        lies.append("its job ended by itself")
    return lies


def exit_code_of(done):
    """Of a run that ended so, as a shell has it."""
    if done.get("signal") is not None:
        return 128 + done["signal"]
    return 76 if done.get("exit_code") is None else done["exit_code"]


def lies_of_the_lost(history, run, status):
    if status.get("outcome") not in ("lost", "stopped"):
        yield f"76, but {status.get('outcome')}"
    if not history.superseded(run) and not any(fault.kind not in ("blink", "kill-job") and fault.touches(run, run.end + SLACK)
                                               for fault in history.faults):
        yield "nothing took the lock away"


def lies_of_the_refused(history, run, status):
    outcome = {75: "busy", 69: "failed"}[run.exit_code]
    if status.get("outcome") != outcome:
        yield f"not {outcome}"
    if run.section:
        yield "its job did run"
    if run.exit_code == 75 and run.end - run.begin < run.waits * SECOND and not history.superseded(run):
        yield "it gave up early"
    if run.exit_code == 75 and not run.waits and not any(others_near(history, run)):
        yield "nobody else was near"
    if run.exit_code == 69 and not any(fault.kind in in_the_way_of(run) and fault.reaches(run)
                                       and fault.overlaps(run.begin - SLACK, run.end) for fault in history.faults):
        yield "nothing was in the server's way"


def in_the_way_of(run):
    """Another server is found in time, if there is time: a busy machine takes half a second for it."""
    hurried = not run.waits and run.ttl is not None and run.ttl <= 1000
    return SERVER_FAULTS + ONE_AWAY if hurried else SERVER_FAULTS


def others_near(history, run):
    for other in history.runs.values():
        if other is not run and other.key == run.key:
            yield other.begin <= run.end and (other.end is None or other.end >= run.begin - RECENT)
