-- parts: keys mail holders slot wire
-- RAISE: set the fence of our grant, if we still hold the lock and no later fence was issued.
-- (In a quorum each node issues its own number; the highest is the grant's, and a node counts only if
-- it can adopt that. The same applies to the number of the run for a slot.) A later fence of another reader is no
-- obstacle: a later grant here is higher than both.
-- named   token   fence   ttl: ms
--         of a slot: history: ms to keep it   attempt: the number of this run
--                    failures: how many failed before it
-- result  1 set   0 the lock is free   -1 another token has it   -2 a later fence was issued
local arg = named_arguments()
local token, number, ttl = arg.token, tonumber(arg.fence), tonumber(arg.ttl)
local is_reader = mode == 'shared' and tonumber(redis.call('ZSCORE', held, token) or 0) > now
if owner ~= token and not is_reader then return owner and -1 or 0 end
-- A server that has lost its data issues a later fence, but must still learn of the slot.
local state, _, failures, rest = slot_state()
local is_over = state == 'done' or state == 'open' and rest == token  -- --min-hold keeps the lock
if slot and not is_over then
  with_run(token, tonumber(arg.attempt), math.max(failures, tonumber(arg.failures)), tonumber(arg.history) + ttl)
end
if is_reader then
  if tonumber(redis.call('ZSCORE', grants, token)) > number then return -2 end
  redis.call('ZADD', grants, digits(number), token)
  if last_fence > number then return 1 end
end
if last_fence > number then return -2 end
redis.call('SET', fence, digits(number) .. ' ' .. token, 'PX', DAY_MS + ttl)
return 1
