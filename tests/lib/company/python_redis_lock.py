"""Replays the commands of python-redis-lock (the package, module redis_lock).

Facts from its source, src/redis_lock/__init__.py (3.7 and 4.0):
  key       lock:NAME, and a list lock-signal:NAME that wakes one waiter
  value     base64 of 18 random bytes, chosen once for each Lock object
  acquire   SET key id NX EX seconds (without EX: no expiry). In vain: BLPOP the list, with the
            timeout given, else the expiry, else 0; then SET again
  extend    EVALSHA, else EVAL; KEYS the key; ARGV seconds, id. GET not mine: 1; TTL < 0: 2;
            EXPIRE: 0
  release   the same way; KEYS both; ARGV id, ms. GET not mine: 1; DEL the list, LPUSH 1,
            PEXPIRE 1000 ms, DEL the key: 0
  reset     of anybody's lock: DEL the list, LPUSH 1, PEXPIRE, DEL the key
"""

import base64
import os
import sys
import time

from driver import connect, run_by_hash, serve, yes_or_no

EXTEND = """
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 1 end
if redis.call('TTL', KEYS[1]) < 0 then return 2 end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 0
"""

SIGNAL_AND_DELETE = """
redis.call('DEL', KEYS[2])
redis.call('LPUSH', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
return 0
"""

RELEASE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 1 end\n" + SIGNAL_AND_DELETE

SIGNAL_LIFE = 1000  # ms


def seconds(ms):
    return max(1, ms // 1000)


class PythonRedisLock:
    def __init__(self, name):
        self.connection = connect()
        self.keys = [f"lock:{name}", f"lock-signal:{name}"]
        self.id = base64.b64encode(os.urandom(18)).decode()

    def send(self, script, keys, *args):
        return yes_or_no(run_by_hash(self.connection, script, keys, args) == 0)

    def acquire(self, ttl, wait=0):
        expire = seconds(ttl) if ttl else None
        give_up = time.monotonic() + wait / 1000
        while not self.connection.set(self.keys[0], self.id, nx=True, ex=expire):
            # It asks for whole seconds, no more than the expiry, and gives up after the first
            # wait; a longer wait needs another call, as its users do.
            left = give_up - time.monotonic()
            if left <= 0:
                return "no"
            self.connection.blpop(self.keys[1], max(1, min(int(left), expire or int(left))))
        return f"yes {self.id}"

    def extend(self, ttl):
        return self.send(EXTEND, self.keys[:1], seconds(ttl), self.id)

    def release(self):
        return self.send(RELEASE, self.keys, self.id, SIGNAL_LIFE)

    def reset(self):
        return self.send(SIGNAL_AND_DELETE, self.keys, "", SIGNAL_LIFE)


serve(PythonRedisLock(sys.argv[1]))
