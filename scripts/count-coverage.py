"""Tables out of gcov's counts. Called by scripts/coverage.

usage: count-coverage.py units|rooms|simulator DIRECTORY      units: by file, those that tests/unit includes; rooms: by
room; simulator: by file, of the rooms that it runs, and the lines that were not executed
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)


def counted(directory):
    """{file below src: ({line: times}, {(line, number of branch): times})}, over all objects."""
    notes = [os.path.join(path, name) for path, _, names in os.walk(directory)
             for name in names if name.endswith(".gcda")]
    lines, branches = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as work:
        for note in notes:
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", os.path.abspath(note)], cwd=work,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in os.listdir(work):
                with gzip.open(os.path.join(work, name)) as file:
                    document = json.load(file)
                os.unlink(os.path.join(work, name))
                for each in document["files"]:
                    path = os.path.relpath(os.path.join(document["current_working_directory"], each["file"]), TOP)
                    if not path.startswith("src/"):
                        continue
                    for line in each["lines"]:
                        lines[path][line["line_number"]] += line["count"]
                        taken = [branch for branch in line["branches"] if not branch["throw"]]
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
    """What the simulator runs of the program: not its servers' TLS, Sentinel and Cluster, nor the operators' words."""
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


def main(what, directory):
    files = counted(directory)
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
