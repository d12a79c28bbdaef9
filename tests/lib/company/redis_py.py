"""redis-py's own Lock, as the distribution packages it. Its key is the name."""

import sys

from driver import connect, serve, yes_or_no
from redis.exceptions import LockError


class RedisPy:
    def __init__(self, name):
        self.connection = connect()
        self.name = name
        self.lock = None

    def acquire(self, ttl, wait=0):
        # A new object each time, as `with redis.lock(...)` makes one.
        self.lock = self.connection.lock(self.name, timeout=ttl / 1000 or None)
        if self.lock.acquire(blocking=wait > 0, blocking_timeout=wait / 1000):
            return f"yes {self.lock.local.token.decode()}"
        return "no"

    def extend(self, ttl):
        return self.attempt(lambda: self.lock.extend(ttl / 1000, replace_ttl=True))

    def add(self, more):
        return self.attempt(lambda: self.lock.extend(more / 1000))

    def reacquire(self):
        return self.attempt(lambda: self.lock.reacquire())

    def release(self):
        return self.attempt(lambda: self.lock.release() is None)

    def owned(self):
        return yes_or_no(self.lock.owned())

    def locked(self):
        return yes_or_no(self.lock.locked())

    @staticmethod
    def attempt(act):
        try:
            return yes_or_no(act())
        except LockError:
            return "no"


serve(RedisPy(sys.argv[1]))
