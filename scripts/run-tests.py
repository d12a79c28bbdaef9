#!/usr/bin/env python3
"""The part of scripts/test in Python; its usage is that script's.

Everything that is run speaks TAP. A part (the suite on a build, say) is made of jobs, each a process of its own; for the
suite a job is one file of tests/, or one such file with one kind of store.
"""

import collections
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# The files that fork, signal, map memory and parse answers: here the sanitizers have found something, or would.
ON_ASAN = """arguments contract@etcd contract@local contract@postgres contract@quorum contract@redis
    contract@zookeeper guardian hostile_names job library library_many local_queue
    scarce signals steps strangers terminal tls tree wait_all""".split()

# These tell more about others than about rlock and seldom break: clients of other projects, the judge of scripts/chaos. Or
# the sentences are those of another unit, on another kind of store.
ONLY_IN_ALL = """chaos_checker company company_clients company_types company_ways contract@library-quorum
    contract@library-postgres contract@library-zookeeper contract@library-etcd contract@library-local kills@etcd kills@postgres
    mixed_stores@zookeeper postgres_bloat""".split()

# No part takes longer, in seconds: all parts together have to end before CI loses its patience.
LONGEST = {"quick": 2400, "files": 2400, "unit": 2400, "checks": 2400, "all": 3600}

PRESETS = "release", "debug", "asan", "tsan"
CORES = len(os.sched_getaffinity(0))
TEST = re.compile(r"(not )?ok \d+ ?(.*)")
PLAN = re.compile(r"1\.\.(\d+)")


def show(line=""):
    print(line, flush=True)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def kill_tree(pid):
    """Ends a process and all below it. Returns what they were: bats names its processes after their tests."""
    seen = output("ps", "-o", "pid=,ppid=,stat=,etimes=,args=", "-p", str(pid))
    lines = [f"#  {line[:250]}" for line in seen.splitlines()]
    try:
        os.kill(pid, signal.SIGSTOP)  # or it starts others meanwhile
        for child in output("pgrep", "-P", str(pid)).split():
            lines += kill_tree(int(child))
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return lines


class Job:
    """A command that speaks TAP. It writes to a file, because a process that a test left behind would hold a pipe open."""

    def __init__(self, name, *command, tests=0, **env):
        self.name, self.command, self.env = name, command, env
        self.process = self.plan = None
        self.tests = tests  # that it is known to have before it has said so
        self.good = self.bad = self.read = 0
        self.seconds = 0.0  # of all its tests together

    def start(self):
        self.file = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, env={**os.environ, **self.env}, stdin=subprocess.DEVNULL,
                                        stdout=self.file, stderr=subprocess.STDOUT, start_new_session=True)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def new_lines(self, ended):
        """Those since the last call; the last one may be cut short while the process runs."""
        data = os.pread(self.file.fileno(), 1 << 30, self.read)
        whole = len(data) if ended else data.rfind(b"\n") + 1
        self.read += whole
        for line in data[:whole].decode(errors="surrogateescape").removesuffix("\n").split("\n") if whole else ():
            if plan := PLAN.fullmatch(line):
                self.plan = int(plan[1])
                continue
            if test := TEST.match(line):
                self.count(test)
            yield line

    def count(self, test):
        if test[1] or "# skip" in test[2]:
            self.bad += 1
        else:
            self.good += 1
        if took := re.search(r" in (\d+)ms", test[2]):
            self.seconds += int(took[1]) / 1000

    def shortcomings(self):
        """A test for each that did not report, and one for a bad exit code that no failed test explains."""
        code = self.process.returncode if self.process else None
        how = "never began" if code is None else f"ended with exit code {code}"
        missing = (self.tests if self.plan is None else self.plan) - self.good - self.bad
        if missing <= 0 and code != 0 and self.bad == 0:
            missing = 1
        return [f"not ok 0 {self.name}: {how}"] * missing


def shown(jobs, longest, at_a_time=1):
    """Runs the jobs and yields their lines in the jobs' order, those of the first one at once. When the time is up it says
    what runs still, and ends it."""
    end = time.monotonic() + longest
    queue = collections.deque(jobs)
    late = False
    try:
        while queue:
            free = at_a_time - sum(job.runs() for job in queue)
            for job in [job for job in queue if job.process is None][:0 if late else free]:
                job.start()
            if time.monotonic() > end and not late:
                late = True
                yield f"# not done after {longest} s; what ran then:"
                for job in filter(Job.runs, queue):
                    yield from kill_tree(job.process.pid)
                    job.process.wait()
            ended = not queue[0].runs()
            if queue[0].process:
                yield from queue[0].new_lines(ended)
            if ended:
                yield from queue.popleft().shortcomings()
            else:
                time.sleep(0.1)
    finally:
        for job in filter(Job.runs, queue):
            kill_tree(job.process.pid)


class Unit:
    """A file of tests/, or that file with one kind of store of those that it names in lines "# stores: ..."."""

    def __init__(self, path, tests, store=None):
        self.path, self.tests, self.store = path, tests, store
        self.file = os.path.basename(path).removesuffix(".bats")
        self.name = f"{self.file}@{store}" if store else self.file
        self.where = f"{path}@{store}" if store else path

    def answers_to(self, name):
        return name in (self.name, self.file)

    def job(self, prefix, options, env):
        if self.store:
            env = {**env, "STORE": self.store, "BATS_TEST_NAME_PREFIX": f"{self.name}: "}
        # A shell starts background commands with INT and QUIT ignored, and jobs would inherit that.
        return Job(self.name, "env", "--default-signal", *prefix, "bats", "--formatter", "tap", "--timing", *options,
                   self.path, tests=self.tests, **env)


@functools.cache
def all_units():
    """Those with most tests first, so that none of them is the last one."""
    units = []
    for path in sorted(glob.glob("tests/**/*.bats", recursive=True)):
        with open(path) as file:
            text = file.read()
        stores = " ".join(re.findall(r"^# stores: (.*)$", text, re.MULTILINE)).split()
        count = len(re.findall(r"^@test", text, re.MULTILINE))
        units += [Unit(path, count, store) for store in (stores or [None])]
    return sorted(units, key=lambda unit: -unit.tests)


def units_named(names):
    """By the file's name, wherever it stands, and by its path; FILE@STORE for one kind of store. A folder is all in it."""
    chosen = []
    for name in names:
        if os.path.isdir(name) and "/" in name:
            found = [unit for unit in all_units() if unit.path.startswith(f"{name.rstrip('/')}/")]
        else:
            file, at, store = os.path.basename(name).partition("@")
            file = file.removesuffix(".bats") + at + store
            found = [unit for unit in all_units() if unit.answers_to(file)]
        if not found:
            sys.exit(f"test: no file of tests/ is named '{name}'")
        chosen += found
    return chosen


@functools.cache
def lack_of_history():
    """Why the program before this one cannot be built here, or None. A full clone that does not have the commit is a fault,
    and the tests say so."""
    ran = subprocess.run(["scripts/build-previous", "--check"], capture_output=True, text=True)
    return ran.stderr.strip().partition(": ")[2] if ran.returncode == 1 else None


class Run:
    """One call of scripts/test."""

    def __init__(self, mode):
        self.mode, self.begin = mode, time.monotonic()
        self.passed = self.failed = 0
        self.parts = []    # (seconds, name)
        self.files = []    # (seconds, name, tests, preset)
        self.not_run = {}  # where: why
        self.builds = {}   # preset: whether it was built

    def part(self, name, begin):
        self.parts.append((time.monotonic() - begin, name))

    def tally(self, name, *jobs, at_a_time=1):
        self.add_up(name, shown(jobs, LONGEST[self.mode], at_a_time))

    def add_up(self, name, lines):
        """Shows TAP, numbered anew, and adds it up. A skipped test is a failed one, and so is a part without a test."""
        begin = time.monotonic()
        good = bad = 0
        show(f"== {name}")
        with open(f"build/log/{name}.tap", "w", errors="surrogateescape") as log:
            def tell(line):
                show(line)
                print(line, file=log, flush=True)

            for line in lines:
                if test := TEST.match(line):
                    failed = test[1] or "# skip" in test[2]
                    good, bad = good + (not failed), bad + bool(failed)
                    line = f"{test[1] or ''}ok {good + bad} {test[2]}"
                tell(line)
            if good + bad == 0:
                bad = 1
                tell("not ok 1 no test ran")
            tell(f"1..{good + bad}")
        self.passed += good
        self.failed += bad
        show(f"== {name}: {good} ok, {bad} not ok, {time.monotonic() - begin:.0f} s\n")
        self.part(name, begin)

    def step(self, what, name, *command, **how):
        """A command that counts as one test."""
        begin = time.monotonic()
        good = subprocess.run(command, **how).returncode == 0
        show(f"{'ok' if good else 'not ok'} {what}\n")
        self.passed += good
        self.failed += not good
        self.part(name, begin)

    def build_command(self, preset):
        """The simulator is built where it runs."""
        simulator = preset == "release" or self.mode in ("all", "files") and preset != "coverage"
        return ["scripts/build", preset, "--", "-DRLOCK_WERROR=ON", "-DRLOCK_UNIT=ON",
                f"-DRLOCK_SIM={'ON' if simulator else 'OFF'}"]

    def build(self, preset):
        """Once in a run."""
        if preset not in self.builds:
            self.step(f"build {preset}, warnings as errors", f"build-{preset}", *self.build_command(preset))
            self.builds[preset] = all(os.access(f"build/{preset}/{each}", os.X_OK) for each in ("rlock", "unit-tests"))
        return self.builds[preset]

    def build_previous(self):
        """The program that is tested beside this one, once in a run."""
        if not lack_of_history() and "previous" not in self.builds:
            self.builds["previous"] = True
            self.step("build of the version before", "build-previous", "scripts/build-previous", stdout=subprocess.DEVNULL)

    def build_aside(self, *presets):
        """While the suite waits for its servers: `build` then finds most of it done, and says what failed. Nice, so that
        the suite has the processor when it wants it."""
        commands = [" ".join(["nice", "-n", "19", *self.build_command(each)]) for each in presets]
        return subprocess.Popen(["sh", "-c", "; ".join(commands)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def unit(self, preset):
        """Each of doctest's test cases counts as one."""
        self.add_up(f"unit-{preset}", unit_tap(preset))

    def can_run(self, units):
        """Those that can run here; notes the others."""
        for each in units:
            if each.path.startswith("tests/upgrade/") and "PREVIOUS_BIN" not in os.environ and lack_of_history():
                self.not_run[each.where] = lack_of_history()
        self.tell_not_run()
        return [each for each in units if each.where not in self.not_run]

    def tell_not_run(self):
        for where, why in sorted(self.not_run.items()):
            show(f"# not run: {where}: {why}")

    def suite(self, preset, units, options=(), **env):
        """Tests mostly wait, so more of them run at a time than there are cores; those of one file one after the other:
        what Bats does to run them at a time costs as much as the tests."""
        each, limit = (4, 120) if preset == "release" else (3, 180)
        reports = os.path.abspath(f"build/log/reports-{preset}")
        shutil.rmtree(reports, ignore_errors=True)
        os.makedirs(reports)
        env = {"RLOCK_BIN": os.path.abspath(f"build/{preset}/rlock"), "BATS_TEST_TIMEOUT": str(limit),
               "ASAN_OPTIONS": f"log_path={reports}/asan:detect_stack_use_after_return=1:disable_coredump=0",
               "UBSAN_OPTIONS": f"log_path={reports}/ubsan:print_stacktrace=1:halt_on_error=1",
               "TSAN_OPTIONS": f"log_path={reports}/tsan:second_deadlock_stack=1:disable_coredump=0", **env}
        jobs = [unit.job(personality(preset), options, env) for unit in units]
        self.tally(f"suite-{preset}", *jobs, at_a_time=each * CORES)
        self.files += [(job.seconds, job.name, job.good + job.bad, preset) for job in jobs if job.seconds > 0]
        if preset != "release":
            self.add_up(f"reports-{preset}", no_reports(preset, reports))

    def refusing(self, *names):
        """The files once more with each newer call refused that rlock can do without, as old kernels and profiles of
        containers refuse them."""
        self.build("release")
        binary = os.path.abspath("build/refuse")
        subprocess.run(["gcc", "-O1", "-o", binary, "tests/lib/refuse.c"], check=True)
        for refused in "pidfd_send_signal:ENOSYS", "pidfd_open:EPERM pidfd_send_signal:EPERM close_range:EPERM":
            env = {"REFUSE": refused, "REFUSE_BIN": os.path.abspath("build/release/rlock"), "RLOCK_BIN": binary,
                   "BATS_TEST_TIMEOUT": "120"}
            self.tally(f"refused-{refused.partition(':')[0]}", *(unit.job((), (), env) for unit in units_named(names)),
                       at_a_time=4 * CORES)

    def script(self, name, *command, preset=None):
        """A part that is one of our scripts, on a build's program if it names one."""
        if preset:
            self.build(preset)
        env = {"RLOCK_BIN": os.path.abspath(f"build/{preset}/rlock")} if preset else {}
        self.tally(name, Job(name, *command, **env))

    def quick(self):
        self.script("checks", "scripts/checks", "--quick")
        if self.build("release"):
            self.unit("release")
            self.build_previous()
            aside = self.build_aside("asan", "tsan")  # while most of what follows waits for its servers
            self.suite("release", self.can_run([each for each in all_units() if each.name not in ONLY_IN_ALL]))
            self.script("chaos", "scripts/chaos", "--seed", "1", "--for", "5s", "--store", "redis", "--store", "quorum",
                        "--store", "postgres", "--store", "local", preset="release")
            aside.wait()
            self.script("simulate", "scripts/simulate", "--seed", "1", "--seeds", "12000", preset="release")
            self.script("rules", "scripts/simulate", "--shape", "rules", "--seed", "1", "--seeds", "3000", preset="release")
            self.script("records", "scripts/simulate", "--shape", "records", "--seed", "1", "--seeds", "3000",
                        preset="release")
        for preset in "asan", "tsan":
            if self.build(preset):
                self.unit(preset)
        if os.access("build/asan/rlock", os.X_OK):
            self.suite("asan", units_named(ON_ASAN))

    def suite_on(self, preset):
        self.build_previous()
        if self.build(preset):
            self.unit(preset)
            self.suite(preset, self.can_run(all_units()))

    def kills(self):
        if self.build("release"):
            self.suite("release", units_named(["kills"]), KILLS="1000")

    def parts_of_all(self):
        """In their order, by the names that --all takes."""
        simulate = functools.partial(self.script, preset="release")
        shape = ("scripts/simulate", "--shape")
        return {
            "checks": lambda: self.script("checks", "scripts/checks"),
            "models": lambda: self.script("models", "scripts/check-models"),
            "fuzz": lambda: self.script("fuzz", "scripts/fuzz", "--for", "60s"),
            **{f"suite-{preset}": functools.partial(self.suite_on, preset) for preset in ("release", "asan", "tsan")},
            "coverage-rules": lambda: self.step("of the branches of src/store/rules, their unit tests take 98 %",
                                                "coverage-rules", "scripts/coverage", "--rules"),
            "refused": lambda: self.refusing("signals", "tree", "guardian", "terminal", "wait_all"),
            "simulate": lambda: simulate("simulate", "scripts/simulate", "--for", "10m"),
            "simulate-asan": lambda: self.script("simulate-asan", "scripts/simulate", "--seed", "1", "--seeds", "3000",
                                                 preset="asan"),
            "mutants": lambda: simulate("mutants", "scripts/simulate", "--mutants", "--seed", "1"),
            "rules": lambda: simulate("rules", *shape, "rules", "--seeds", "200000"),
            "records": lambda: simulate("records", *shape, "records", "--seeds", "100000"),
            "rules-mutants": lambda: simulate("rules-mutants", *shape, "rules", "--mutants", "--seed", "1"),
            "kills": self.kills,
            "chaos": lambda: simulate("chaos", "scripts/chaos", "--for", "15s"),
        }

    def all(self, names):
        parts = self.parts_of_all()
        if unknown := [name for name in names if name not in parts]:
            sys.exit(f"test: --all has no part '{unknown[0]}'; it has {' '.join(parts)}")
        for name in parts:
            if not names or name in names:
                parts[name]()

    def report(self):
        self.part("in all", self.begin)
        show("Time by part:")
        for seconds, name in self.parts:
            show(f"{seconds:6.0f} s  {name}")
        show("Slowest files, all their tests together:")
        for seconds, name, count, preset in sorted(self.files, reverse=True)[:5]:
            show(f"{seconds:6.0f} s  {name}, {count} tests, {preset}")
        self.tell_not_run()
        files = {0: "", 1: ", 1 file not run"}.get(len(self.not_run), f", {len(self.not_run)} files not run")
        show(f"{self.passed} passed, {self.failed} failed{files}")


def personality(preset):
    """ThreadSanitizer of gcc 12 cannot live with the address randomisation of newer kernels."""
    ran = subprocess.run([f"build/{preset}/rlock", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [] if ran.returncode == 0 else ["setarch", os.uname().machine, "-R"]


def unit_tap(preset):
    ran = subprocess.run([*personality(preset), "timeout", "300", f"build/{preset}/unit-tests", "--no-colors"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="surrogateescape")
    found = re.search(r"^\[doctest\] test cases: *\d+ \| *(\d+) passed \| *(\d+) failed", ran.stdout, re.MULTILINE)
    good, bad = map(int, found.groups()) if found else (0, 0)
    if ran.returncode != 0 or good == 0:
        yield from (f"# {line}" for line in ran.stdout.splitlines())
        bad = max(bad, 1)
    yield from [f"ok 0 {preset} unit test"] * good
    yield from [f"not ok 0 {preset} unit test"] * bad


def no_reports(preset, directory):
    """A sanitizer's word counts even where a test did not look at the exit code."""
    reports = sorted(os.listdir(directory))
    yield f"{'not ok' if reports else 'ok'} 1 the sanitizers of {preset} reported nothing"
    for report in reports:
        with open(f"{directory}/{report}", errors="surrogateescape") as file:
            yield from [f"# {line.rstrip()}" for line in file][:60]


def main(arguments):
    mode, preset, names = "quick", None, []
    while arguments and not (arguments[0].startswith("-") and arguments[0] not in ("--checks", "--all", "--unit", "--preset")):
        word = arguments.pop(0)
        if word == "--preset":
            preset = arguments.pop(0) if arguments else sys.exit("test: --preset takes the name of a build")
        elif word == "--unit":
            mode, preset = "unit", arguments.pop(0) if arguments and arguments[0] in PRESETS else None
        elif word in ("--checks", "--all"):
            mode = word.removeprefix("--")
        else:
            names.append(word)
    if mode == "quick" and (preset or names or arguments):
        mode = "files"
    preset = preset or "release"

    if mode not in ("checks", "unit"):
        for script, otherwise in (("install-promtool", "promtool; the tests that need it are skipped"),
                                  ("install-node-modules", "these modules; the tests that need them fail")):
            if subprocess.run([f"scripts/{script}"]).returncode != 0:
                print(f"test: going on without {otherwise}", file=sys.stderr)
    run = Run(mode)
    if mode == "checks":
        run.script("checks", "scripts/checks")
    elif mode == "unit":
        if run.build(preset):
            run.unit(preset)
    elif mode == "files":
        units = run.can_run(units_named(names) if names else all_units())
        if run.build(preset):
            run.suite(preset, units, arguments)
    elif mode == "quick":
        run.quick()
    else:
        run.all(names)
    run.report()
    return run.failed == 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="surrogateescape")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    os.makedirs("build/log", exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="rlock-tests.") as shared:
            os.environ["TESTS_TMPDIR"] = shared  # what the files of a run share: which ports are taken
            sys.exit(0 if main(sys.argv[1:]) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
