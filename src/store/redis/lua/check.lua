-- parts: keys mail holders queue runs wire
-- CHECK: whether a token holds the lock, and for how long; writes nothing.
-- ARGV  2 token
-- result  {'ours', left: ms; fence; mode: absent for an exclusive lock}
--         {'elsewhere', holder: see occupant(), absent if the lock is free}
local token = ARGV[2]
local left, number = 0, owner == last_token and last_fence
if mode then
  left = tonumber(redis.call('ZSCORE', held, token) or 0) - now
  number = redis.call('ZSCORE', grants, token)
elseif has_it_alone(token) then
  left = redis.call('PTTL', lock)
  if left == -1 then left = DAY_MS end  -- another client made it persistent
end
if left > 0 then return answer({'ours'}, 'left', left, 'fence', number and digits(tonumber(number)), 'mode', mode) end
return answer({'elsewhere'}, 'holder', (occupant()))
