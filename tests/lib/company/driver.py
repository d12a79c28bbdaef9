"""Shared by the clients written in Python: a lock, driven line by line.

usage of each: CLIENT.py NAME SOCKET
  NAME    what the client calls the lock; its key is the client's matter
  SOCKET  the server's Unix socket

Each line of the standard input is a command, each is answered by one line:
  acquire TTL [WAIT]    ms; TTL 0 is no expiry    yes TOKEN | no
  extend TTL            ms from now                yes | no
  release                                         yes | no
  count FILE LOG STOP                             done | lost the lock
  end
`count` adds one to the number in FILE, again and again until there is a file STOP: each time under
the lock, with a line in LOG, in a way that loses when two do it at a time. A client may know more
commands.
"""

import hashlib
import os
import sys
import time
import traceback

import redis

SECTION = 0.005  # s: long enough for another to come in between, where it can
PAUSE = 0.02  # s between two rounds, so that others get their turn
WAIT = 1_000  # ms, again and again
LEASE = 30_000  # ms


def connect():
    return redis.Redis(unix_socket_path=sys.argv[2])


def yes_or_no(done):
    return "yes" if done else "no"


def run_by_hash(connection, script, keys, args):
    """EVALSHA, and EVAL where the server does not know the script yet."""
    digest = hashlib.sha1(script.encode()).hexdigest()
    try:
        return connection.evalsha(digest, len(keys), *keys, *args)
    except redis.exceptions.NoScriptError:
        return connection.eval(script, len(keys), *keys, *args)


def count(lock, file, log, stop):
    while not os.path.exists(stop):
        while lock.acquire(LEASE, WAIT) == "no":
            pass
        with open(file, encoding="ascii") as numbers:
            number = int(numbers.read())
        with open(log, "a", encoding="ascii") as who:
            who.write("client\n")
        time.sleep(SECTION)
        with open(file, "w", encoding="ascii") as numbers:
            numbers.write(str(number + 1))
        if lock.release() == "no":
            return "lost the lock"
        time.sleep(PAUSE)
    return "done"


def answer(lock, verb, args):
    try:
        if verb == "count":
            return count(lock, *args)
        return getattr(lock, verb)(*(int(arg) for arg in args))
    except redis.exceptions.ResponseError as error:
        return f"error {error}".splitlines()[0]
    except Exception:  # what the client itself did not expect: the test shows it
        traceback.print_exc()
        return "error, see stderr"


def serve(lock):
    for line in sys.stdin:
        verb, *args = line.split()
        if verb == "end":
            break
        print(answer(lock, verb, args), flush=True)
