"""Records of a chaos run: JSON objects, one a line, with "t" in ns of CLOCK_BOOTTIME and "what"."""

import json
import os
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Recorder:
    """Appends to one file, together with the jobs: a line is one write."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, what, **more):
        record = {"t": now(), "what": what} | more  # a fault brings its own time
        os.write(self.file, (json.dumps(record) + "\n").encode())
        return record["t"]


def read(path):
    """In the order of their times."""
    with open(path, encoding="utf-8") as file:
        return sorted((json.loads(line) for line in file), key=lambda record: record["t"])
