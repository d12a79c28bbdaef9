-- parts: keys mail holders queue
-- REFRESH: extend the lease by ttl from now, if we still hold the lock.
-- ARGV  2 token   3 ttl ms
-- result  1 refreshed   0 the lock is free   -1 another token has it
local token, ttl = ARGV[2], tonumber(ARGV[3])
local left
if mode then
  -- An expired lease is over even if nothing has noticed: its permit may already count as free.
  left = tonumber(redis.call('ZSCORE', held, token) or 0) - now
  if left <= 0 then return -1 end
  -- Without memory a server refuses a script's first write if that may need some, and only the first. This
  -- one needs none; settle() corrects it.
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
if ttl < left then tell_lookers(0) end  -- a step shortens its lease
return 1
