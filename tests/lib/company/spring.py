"""Replays the commands of Spring Integration's RedisLockRegistry.

Facts from its source, RedisLockRegistry.java (7.0; servers older than 8.4 get these scripts):
  key       registryKey:lockKey
  value     one UUID for all locks and acquisitions of a registry
  obtain    EVALSHA, else EVAL; KEYS the key; ARGV the UUID, expireAfter in ms (default 60000).
            GET; mine: PEXPIRE; absent: SET PX; else false
  waiting   SPIN_LOCK: obtain again each 100 ms. PUB_SUB_LOCK: until a message on the channel
            registryKey-channel:registryKey:lockKey, or the end of the wait, then obtain once more
  renew     GET; mine: PEXPIRE
  unlock    GET; mine: UNLINK, and with PUB_SUB_LOCK PUBLISH the key on that channel
"""

import sys
import time
import uuid

from driver import connect, run_by_hash, serve, yes_or_no

OBTAIN = """
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
elseif owner then
  return false
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return true
"""

RENEW = """
local mine = redis.call('GET', KEYS[1]) == ARGV[1]
if mine then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return mine
"""

UNLOCK = """
local mine = redis.call('GET', KEYS[1]) == ARGV[1]
if mine then redis.call('UNLINK', KEYS[1]) end
return mine
"""

UNLOCK_AND_PUBLISH = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('UNLINK', KEYS[1]) ~= 1 then
  return false
end
redis.call('PUBLISH', ARGV[2], KEYS[1])
return true
"""

IDLE = 0.1  # s between two tries


class Spring:
    def __init__(self, key):
        self.connection = connect()
        self.key = key
        self.client_id = str(uuid.uuid4())

    def send(self, script, *args):
        return run_by_hash(self.connection, script, [self.key], [self.client_id, *args])

    def acquire(self, ttl, wait=0):
        give_up = time.monotonic() + wait / 1000
        while not self.send(OBTAIN, ttl):
            if time.monotonic() >= give_up:
                return "no"
            time.sleep(IDLE)
        return f"yes {self.client_id}"

    def extend(self, ttl):
        return yes_or_no(self.send(RENEW, ttl))

    def release(self):
        return yes_or_no(self.send(UNLOCK))

    def release_and_publish(self):
        channel = f"{self.key.split(':')[0]}-channel:{self.key}"
        return yes_or_no(self.send(UNLOCK_AND_PUBLISH, channel))


serve(Spring(sys.argv[1]))
