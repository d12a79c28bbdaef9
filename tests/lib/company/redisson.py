"""Replays the commands of Redisson's RLock (plain, not fair). It keeps a hash where others keep a string.

Facts from its source, RedissonLock.java and RedissonBaseLock.java (3.45):
  key       the name: a hash, field UUID:THREAD -> how often that thread has entered
  lock      EXISTS is 0, or HEXISTS my field: HINCRBY 1, PEXPIRE, nil; else PTTL (ms to wait)
  renew     each third of 30 s: HEXISTS my field: PEXPIRE
  unlock    GET redisson_unlock_latch:{NAME}:REQUEST, an answer of before; HEXISTS my field, else
            nil; HINCRBY -1; at 0: DEL the hash, PUBLISH 0 on redisson_lock__channel:{NAME}, SET
            the latch PX
"""

import sys
import uuid

from driver import connect, serve, yes_or_no

LOCK = """
if redis.call('EXISTS', KEYS[1]) ~= 0 and redis.call('HEXISTS', KEYS[1], ARGV[2]) ~= 1 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return nil
"""

RENEW = """
local mine = redis.call('HEXISTS', KEYS[1], ARGV[2])
if mine == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return mine
"""

UNLOCK = """
local before = redis.call('GET', KEYS[3])
if before then return tonumber(before) end
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return nil end
local last = redis.call('HINCRBY', KEYS[1], ARGV[3], -1) <= 0
if last then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], ARGV[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('SET', KEYS[3], last and 1 or 0, 'PX', ARGV[4])
return last and 1 or 0
"""

LEASE = 30_000  # ms; lockWatchdogTimeout
LATCH_LIFE = 13_500  # ms; (timeout + retry delay) of its defaults, times its attempts


class Redisson:
    def __init__(self, name):
        self.connection = connect()
        self.name = name
        self.me = f"{uuid.uuid4()}:1"

    def acquire(self, ttl):
        wait = self.connection.eval(LOCK, 1, self.name, ttl, self.me)
        return f"yes {self.me}" if wait is None else "no"

    def extend(self, ttl):
        return yes_or_no(self.connection.eval(RENEW, 1, self.name, ttl, self.me) == 1)

    def release(self):
        latch = f"redisson_unlock_latch:{{{self.name}}}:{uuid.uuid4().hex}"
        keys = [self.name, f"redisson_lock__channel:{{{self.name}}}", latch]
        return yes_or_no(self.connection.eval(UNLOCK, 3, *keys, 0, LEASE, self.me, LATCH_LIFE) == 1)


serve(Redisson(sys.argv[1]))
