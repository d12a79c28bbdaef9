"""Runs clang-tidy over all sources, as build/tidy/compile_commands.json compiles them. Called by scripts/checks.

A source that passed is looked at again once it changes, or a header that it includes, its command or the checks.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import shlex
import subprocess
import sys

BUILD = "build/tidy"
PASSED = f"{BUILD}/passed"


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def headers_of(entry):
    """The files that the compiler reads for it, by its own word, itself included."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    rule = subprocess.run([*words[:at], *words[at + 2:], "-M"], cwd=entry["directory"], check=True, capture_output=True,
                          text=True).stdout
    return sorted(set(rule.replace("\\\n", " ").split(": ", 1)[1].split()))


def digest_of(entry, checks):
    digest = hashlib.sha256(checks)
    root = os.getcwd()
    digest.update(entry["command"].replace(root, "").encode())
    for each in headers_of(entry):
        digest.update(hashlib.sha256(contents(os.path.join(entry["directory"], each))).digest())
    return digest.hexdigest()


def finds_nothing(entry, checks):
    mark = f"{PASSED}/{digest_of(entry, checks)}"
    if os.path.exists(mark):
        return True
    ran = subprocess.run(["clang-tidy", "--quiet", "-p", BUILD, entry["file"]], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    if ran.returncode == 0:
        with open(mark, "w") as file:
            file.write(entry["file"] + "\n")
    else:
        print(ran.stdout, flush=True)
    return ran.returncode == 0


def all_entries():
    with open(f"{BUILD}/compile_commands.json") as file:
        known = {each["file"]: each for each in json.load(file)}
    some_file, some = next((file, each) for file, each in known.items() if "/src/" in file)
    sources = glob.glob(f"{os.getcwd()}/src/**/*.cpp", recursive=True)
    # One that stands in for a library that is here is compiled as the others are.
    return [known.get(each) or {**some, "file": each, "command": some["command"].replace(some_file, each)} for each in sources]


def main():
    os.makedirs(PASSED, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    checks = version + contents(".clang-tidy")
    # The longest first, so that no core is idle at the end.
    entries = sorted(all_entries(), key=lambda entry: -os.path.getsize(entry["file"]))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return all(list(pool.map(lambda entry: finds_nothing(entry, checks), entries)))


sys.exit(0 if main() else 1)
