-- CHECK: whether a token holds the lock, and for how long; writes nothing.
-- ARGV  2 token
-- result  {ms left, fence or ''}
--         {0: nobody or -1: somebody else has it, token, PTTL, held ms, kind, more holders}
local token = ARGV[2]
local left, number = 0, owner == last_token and last_fence
if mode then
  left = tonumber(redis.call('ZSCORE', held, token) or 0) - now
  number = redis.call('ZSCORE', grants, token)
elseif owner == token then
  left = redis.call('PTTL', lock)
  if left == -1 then left = DAY end  -- somebody made it last
end
if left > 0 then return {left, number and digits(tonumber(number)) or ''} end
local who, ends, since, kind, more = occupant()
return {owner and -1 or 0, string.sub(who, 1, 400), ends, since, kind, more}
