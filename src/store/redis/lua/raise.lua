-- RAISE: the fence of our grant is this number, if the lock still is ours and no later one was given.
-- (In a quorum each node gives a number of its own; the highest is the grant's, and a node counts
-- only if it could take that over. So it is with the number of the run for a slot.)
-- ARGV  2 token   3 the fence   4 ttl ms
--       of a slot: 5 ms to remember it for   6 the number of this run   7 how many failed before it
-- result  1 it is   0 nobody has the lock   -1 somebody else has it   -2 a later fence was given
local token, number, ttl = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if owner ~= token then return owner and -1 or 0 end
-- What has lost its data gives a later fence, and has to be told of the slot all the same.
local state, _, failures, rest = slot_state()
local is_over = state == 'done' or state == 'open' and rest == token  -- --min-hold keeps the lock
if slot and not is_over then
  failures = math.max(failures, tonumber(ARGV[7]))
  with_run(token, tonumber(ARGV[6]), failures, tonumber(ARGV[5]) + ttl)
end
if last_fence > number then return -2 end
redis.call('SET', fence, digits(number) .. ' ' .. token, 'PX', DAY + ttl)
return 1
