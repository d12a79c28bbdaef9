"""The commands of clients, without those that scripts call, as MONITOR sees them."""

import os
import re
import subprocess
import tempfile

from world import DIR, SOCKET, until

OURS = re.compile(r'\] "(?i:acl|echo|config|info|command|zcard|client)"')


class Wire:
    def __init__(self, socket=SOCKET):
        self.socket = socket

    def __enter__(self):
        handle, self.log = tempfile.mkstemp(prefix="monitor.", dir=DIR)
        self.file = os.fdopen(handle, "w")
        self.process = subprocess.Popen(["redis-cli", "-s", self.socket, "monitor"],
                                        stdout=self.file)
        until(lambda: os.path.getsize(self.log) > 0, "MONITOR")
        return self

    def __exit__(self, *_):
        subprocess.run(["redis-cli", "-s", self.socket, "echo", "the-end"],
                       stdout=subprocess.DEVNULL, check=True)
        until(lambda: "the-end" in self.text(), "the end of MONITOR")
        self.process.kill()
        self.process.wait()
        self.file.close()

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def commands(self):
        return [line for line in self.text().splitlines()
                if " [0 " in line and " lua]" not in line and not OURS.search(line)]
