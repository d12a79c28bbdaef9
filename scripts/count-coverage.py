"""Tables out of gcov's counts, without the branches that only an exception takes. Called by scripts/coverage.

usage: count-coverage.py units|rooms|simulator|rules DIRECTORY      units: by file, those that tests/unit includes;
rooms: by room; simulator: by file, of the rooms that it runs, and the lines that were not executed; rules: by file, of
src/store/rules, and the branches that were not taken, and fails if these are too many
"""

import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
LEAST_OF_RULES = 98  # percent


def below_top(directory, name):
    return os.path.relpath(os.path.join(directory, name), TOP)


def unwinding(note, directory):
    """{(file below src, line): [whether only an exception gets there, of each of its branches]}, of one object.

    Where an exception may pass, the compiler adds blocks that destroy what there is by then, with branches of their
    own ("was it made already?"), on lines that say nothing of it, such as a closing brace. gcov knows these blocks, but
    tells of them only in its text, where "$$$$$" marks one that no other way leads to, and only if it was not executed;
    so it gets the notes of the object without the counts. It reads the sources, whose names may be relative to the
    directory where the compiler ran (ccache makes them so). The code of a handler stands on lines of its own, on which
    every block is such a one: its branches count.
    """
    blocks = collections.defaultdict(list)  # of a line: [only an exception gets there, branches that leave it]
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(f"{os.path.splitext(note)[0]}.gcno", work)
        text = subprocess.run(["gcov", "--all-blocks", "--branch-probabilities", "--stdout", "--relative-only",
                               "--source-prefix", TOP, "--object-directory", work, os.path.basename(note)],
                              cwd=directory, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    at = None
    for row_of_text in text.splitlines():
        source = re.match(r" +-: +0:Source:(.*)", row_of_text)
        line = re.match(r" *([^ :]+): *([0-9]+)(:|-block)", row_of_text)
        if source:
            path, at = below_top(TOP if source[1].startswith("src/") else directory, source[1]), None
        elif line and line[3] == ":":
            at = (path, int(line[2]))
            # Branches of a line without a block of its own: the last block of the line before continues here.
            blocks[at].append([False, 0])
        elif line:
            blocks[at].append([line[1] == "$$$$$", 0])
        elif at and row_of_text.startswith("branch"):
            blocks[at][-1][1] += 1
    return {at: [only and not all(each for each, _ in these[1:]) for only, branches in these for _ in range(branches)]
            for at, these in blocks.items()}


def counted(directory):
    """{file below src: ({line: times}, {(line, number of branch): times})}, over all objects."""
    notes = [os.path.join(path, name) for path, _, names in os.walk(directory)
             for name in names if name.endswith(".gcda")]
    lines, branches = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as work:
        for note in notes:
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", os.path.abspath(note)], cwd=work,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            unwound = None
            for name in os.listdir(work):
                with gzip.open(os.path.join(work, name)) as file:
                    document = json.load(file)
                os.unlink(os.path.join(work, name))
                if unwound is None:
                    unwound = unwinding(note, document["current_working_directory"])
                for each in document["files"]:
                    path = below_top(document["current_working_directory"], each["file"])
                    if not path.startswith("src/"):
                        continue
                    for line in each["lines"]:
                        lines[path][line["line_number"]] += line["count"]
                        ways = line["branches"]
                        only_unwinding = unwound.get((path, line["line_number"]), [])
                        if len(only_unwinding) != len(ways):  # of a template: its instances stand side by side
                            only_unwinding = [False] * len(ways)
                        taken = [branch for branch, skip in zip(ways, only_unwinding) if not branch["throw"] and not skip]
                        for number, branch in enumerate(taken):
                            branches[path][line["line_number"], number] += branch["count"]
    return {path: (lines[path], branches[path]) for path in sorted(lines)}


def share(counts):
    return sum(1 for times in counts if times), len(counts)


def row(name, line_counts, branch_counts):
    seen, of = share(line_counts)
    taken, ways = share(branch_counts)
    print(f"{name:<34} {100 * seen / max(of, 1):6.1f} % of {of:5} lines {100 * taken / max(ways, 1):6.1f} % of {ways:5} branches")


def room(path):
    inside = os.path.dirname(path)[len("src/"):] if os.path.dirname(path) != "src" else "main"
    return inside


def units():
    """The files of src whose header some unit test includes."""
    included = set()
    for name in os.listdir(f"{TOP}/tests/unit"):
        with open(f"{TOP}/tests/unit/{name}") as file:
            included |= set(re.findall(r'#include "((?:base|os|store|hold|cmd)/[^"]+)\.hpp"', file.read()))
    return included


def simulated(files):
    """The part of the program that the simulator runs: without TLS, Sentinel, Cluster and the operators' messages."""
    rooms = ("hold", "store/redis", "store/quorum")
    for path, (lines, branches) in files.items():
        if room(path) in rooms:
            row(path, lines.values(), branches.values())
    print("Not executed:")
    for path, (lines, _) in files.items():
        if room(path) not in rooms:
            continue
        with open(f"{TOP}/{path}") as file:
            text = file.read().splitlines()
        for number in sorted(number for number, times in lines.items() if not times):
            print(f"{path}:{number}  {text[number - 1].strip()}")


def rules(files):
    """The branches of the rules of a lock that their own unit tests take."""
    all_lines, all_branches, missing = [], [], []
    for path, (lines, branches) in files.items():
        if room(path) != "store/rules":
            continue
        with open(f"{TOP}/{path}") as file:
            text = file.read().splitlines()
        # The compiler writes a defaulted comparison, which tests use and no rule decides by, field by field.
        ours = {way: times for way, times in branches.items() if not re.search(r"operator==.*= default", text[way[0] - 1])}
        row(path, lines.values(), ours.values())
        all_lines.extend(lines.values())
        all_branches.extend(ours.values())
        not_taken = collections.Counter(line for (line, _), times in ours.items() if not times)
        missing += [f"{path}:{line}  {text[line - 1].strip()}" for line in sorted(not_taken)]
    row("store/rules", all_lines, all_branches)
    if missing:
        print("With a branch that was not taken:", *missing, sep="\n")
    taken, ways = share(all_branches)
    if 100 * taken < LEAST_OF_RULES * max(ways, 1):
        sys.exit(f"coverage: less than {LEAST_OF_RULES} % of the branches of src/store/rules are taken by tests/unit/rules_*.cpp")


def main(what, directory):
    files = counted(directory)
    if what == "rules":
        return rules(files)
    if what == "simulator":
        return simulated(files)
    groups = collections.defaultdict(lambda: ([], []))
    wanted = units()
    for path, (lines, branches) in files.items():
        if what == "units":
            if os.path.splitext(path)[0][len("src/"):] not in wanted:
                continue
            name = path
        else:
            name = room(path)
        for key in (name, "all"):
            groups[key][0].extend(lines.values())
            groups[key][1].extend(branches.values())
    print(f"Executed by {'the unit tests, of the units they include' if what == 'units' else 'all tests'}:")
    for name in sorted(groups, key=lambda each: (each == "all", each)):
        row(name, *groups[name])


main(*sys.argv[1:])
