"""Runs a command, and sends signals as a service manager does: to each process, one after the other.

usage: signal_each.py FIFO COMMAND [ARG...]
To be process 1 of a PID namespace. For each line NUMBER that comes through FIFO (which it makes), it
sends that signal to every other process there. It ends with the command's exit code.
"""

import contextlib
import os
import sys
import threading


def signal_all(number):
    others = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    for pid in others[1:]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def obey(fifo):
    with os.fdopen(os.open(fifo, os.O_RDWR)) as orders:
        for order in orders:
            signal_all(int(order))


if __name__ == "__main__":
    with contextlib.suppress(FileExistsError):
        os.mkfifo(sys.argv[1])
    threading.Thread(target=obey, args=[sys.argv[1]], daemon=True).start()
    command = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
    while True:
        pid, status = os.wait()
        if pid == command:
            sys.exit(os.waitstatus_to_exitcode(status) % 256)
