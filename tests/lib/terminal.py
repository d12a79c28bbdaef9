"""Runs a command on a terminal of its own and plays a person at it.

usage: terminal.py STEP... -- COMMAND [ARG...]
The command is the leader of a new session; the terminal is its controlling one. Steps, in order:
  expect TEXT   wait until TEXT appears in what was printed since the last expect
  send KEYS     type; Python escapes work: \\r for Enter, \\x03 for ^C, \\x1a for ^Z
  until SHELL   wait until the shell command SHELL succeeds
  run SHELL     run the shell command SHELL once; it must succeed
  size ROWS COLUMNS
  hangup        take the terminal away
Then it waits for the command's end. stdout is what the terminal showed; the exit code is the
command's, 128+N for a signal, 99 if a step failed.
"""

import codecs
import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 20.0  # seconds a step may take, sanitizers and busy machines included
TIOCSPTLCK = 0x40045431
TIOCGPTPEER = 0x5441


def pair(ptmx):
    """The two ends of a new terminal, by the master alone: no name under /dev/pts is needed."""
    master = os.open(ptmx, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(master, TIOCSPTLCK, struct.pack("i", 0))
        slave = fcntl.ioctl(master, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        os.close(master)
        raise
    return master, slave


def open_terminal():
    try:
        return pair("/dev/ptmx")
    except OSError:
        pass  # a bare chroot: no devpts is mounted there, so mount one for a moment
    place = tempfile.mkdtemp(prefix="rlock-devpts.")
    try:
        subprocess.run(
            ["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", place], check=True
        )
        try:
            return pair(place + "/ptmx")
        finally:
            subprocess.run(["umount", "-l", place], check=True)
    finally:
        os.rmdir(place)


def spawn(command, slave):
    def become_leader():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, preexec_fn=become_leader, close_fds=True
    )


class Person:
    def __init__(self, master, child):
        self.master = master
        self.child = child
        self.shown = b""
        self.read_to = 0  # what the steps have already seen

    def look(self, seconds):
        """Takes in what the terminal shows; False when there will be nothing more."""
        if self.master is None:
            time.sleep(seconds)
            return False
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        with contextlib.suppress(OSError):  # EIO: nobody has the other end open
            if data := os.read(self.master, 65536):
                self.shown += data
                return True
        time.sleep(0.01)
        return False

    def wait(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            self.look(0.02)

    def expect(self, text):
        wanted = codecs.decode(text, "unicode_escape").encode("latin-1")
        self.wait(f"expect {text}", lambda: self.shown.find(wanted, self.read_to) >= 0)
        self.read_to = self.shown.find(wanted, self.read_to) + len(wanted)

    def send(self, keys):
        os.write(self.master, codecs.decode(keys, "unicode_escape").encode("latin-1"))

    def until(self, command):
        self.wait(f"until {command}", lambda: subprocess.run(["bash", "-c", command]).returncode == 0)

    def run(self, command):
        subprocess.run(["bash", "-c", command], check=True)

    def size(self, text):
        rows, columns = map(int, text.split())
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hangup(self, _):
        os.close(self.master)
        self.master = None

    def end(self):
        self.wait("the command's end", lambda: self.child.poll() is not None)
        while self.master is not None and select.select([self.master], [], [], 0)[0]:
            if not self.look(0):
                break


def play(steps, command):
    master, slave = open_terminal()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    child = spawn(command, slave)
    os.close(slave)
    person = Person(master, child)
    code = 0
    try:
        for step in steps:
            verb, _, rest = step.partition(" ")
            getattr(person, verb)(rest)
        person.end()
    except (TimeoutError, OSError, subprocess.CalledProcessError) as error:
        print(f"terminal.py: {error}", file=sys.stderr)
        child.kill()
        child.wait()
        code = 99
    sys.stdout.buffer.write(person.shown)
    if code == 0:
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return code


if __name__ == "__main__":
    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    sys.exit(play(sys.argv[1:cut], sys.argv[cut + 1 :]))
