-- parts: keys mail holders slot wire
-- RAISE: the fence of our grant is this number, if the lock still is ours and no later one was given.
-- (In a quorum each node gives a number of its own; the highest is the grant's, and a node counts
-- only if it could take that over. The number of the run for a slot follows the same rule.)
-- named   token   fence   ttl: ms
--         of a slot: history: ms to remember it for   attempt: the number of this run
--                    failures: how many failed before it
-- result  1 it is   0 nobody has the lock   -1 somebody else has it   -2 a later fence was given
local arg = named_arguments()
local token, number, ttl = arg.token, tonumber(arg.fence), tonumber(arg.ttl)
if owner ~= token then return owner and -1 or 0 end
-- What has lost its data gives a later fence, and has to be told of the slot all the same.
local state, _, failures, rest = slot_state()
local is_over = state == 'done' or state == 'open' and rest == token  -- --min-hold keeps the lock
if slot and not is_over then
  with_run(token, tonumber(arg.attempt), math.max(failures, tonumber(arg.failures)), tonumber(arg.history) + ttl)
end
if last_fence > number then return -2 end
redis.call('SET', fence, digits(number) .. ' ' .. token, 'PX', DAY_MS + ttl)
return 1
