-- REFRESH: the lease lasts for another ttl from now, if the lock still is ours.
-- ARGV  2 id   3 ttl ms
-- result  1 refreshed   0 nobody has it   -1 somebody else has it
local id, ttl = ARGV[2], ARGV[3]
if owner ~= id then return owner and -1 or 0 end
redis.call('PEXPIRE', lock, ttl)
redis.call('PEXPIRE', fence, DAY + ttl)
return 1
