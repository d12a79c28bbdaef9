-- parts: keys mail holders queue
-- REFRESH: the lease lasts for another ttl from now, if the lock still is ours.
-- ARGV  2 token   3 ttl ms
-- result  1 refreshed   0 nobody has it   -1 somebody else has it
local token, ttl = ARGV[2], tonumber(ARGV[3])
local left
if mode then
  -- What has ended is over, although nobody may have noticed: its permit may be counted free.
  left = tonumber(redis.call('ZSCORE', held, token) or 0) - now
  if left <= 0 then return -1 end
  -- A server that is out of memory refuses what may need some as the first write of a script, and
  -- only as that. This one needs none; settle() sets it right.
  redis.call('PEXPIRE', grants, ttl + 1000)
  redis.call('ZADD', held, now + ttl, token)
  settle()
elseif has_it_alone(token) then
  left = redis.call('PTTL', lock)
  redis.call('PEXPIRE', lock, ttl)
else
  return owner and -1 or 0
end
redis.call('PEXPIRE', fence, DAY_MS + ttl)
if redis.call('PTTL', runs) < DAY_MS + ttl then redis.call('PEXPIRE', runs, DAY_MS + ttl) end
if ttl < left then tell_lookers(0) end  -- a step wants less of it
return 1
