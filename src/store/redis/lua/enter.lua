-- ENTER: take the lock if it is free and our turn; otherwise queue for it, or say who has it.
-- ARGV  2 id   3 ttl ms   4 claim ms   5 grace ms, 0: do not queue   6 ticket to come back with, or ''
-- result  {'granted', fence}
--         {'busy', owner, PTTL, held ms, kind, waiters}
--         {'queued', owner, PTTL, held ms, kind, waiters ahead, ticket}
-- Asking again with the same id is always right: it finds the grant whose answer was lost, confirms
-- a reservation, or keeps its place.
local id, ttl, claim, grace = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local purged = purge()
redis.call('DEL', mailbox .. id)
local first = redis.call('ZRANGE', queue, 0, 0)[1]

if owner == id and last_token == id then
  redis.call('PEXPIRE', lock, ttl)
  return {'granted', digits(last_fence)}
end

if owner == id or (not owner and (not first or first == id)) then
  local number = math.max(last_fence + 1, now_us)
  redis.call('SET', fence, digits(number) .. ' ' .. id, 'PX', DAY + ttl)
  redis.call('SET', lock, id, 'PX', ttl)
  if first then
    drop(id)
    -- After a hand-off the witness looks by itself; here nobody was told.
    if owner ~= id then tell_first() end
  end
  return {'granted', digits(number)}
end

-- Free, but others were here first: the holder's lease ended, or the first one did not confirm. The
-- dead are seldom alone (a host that crashed), so they get less time now.
if not owner then handoff(math.floor(claim / 4)) end
if grace == 0 then
  local who, left, held, kind = occupant()
  return {'busy', string.sub(who, 1, 400), left, held, kind, redis.call('ZCARD', queue)}
end

local ticket = redis.call('ZSCORE', queue, id)
if not ticket then
  ticket = ARGV[6]
  if ticket == '' then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
    ticket = digits(math.max(last and last + 1 or 0, now_us))
  end
  redis.call('ZADD', queue, ticket, id)
end
redis.call('ZADD', alive, now + grace, id)
redis.call('PEXPIRE', queue, 2 * grace)
redis.call('PEXPIRE', alive, 2 * grace)
local rank = redis.call('ZRANK', queue, id)
if purged > 0 and rank > 0 then tell_first() end

local who, left, held, kind = occupant()
return {'queued', string.sub(who, 1, 400), left, held, kind, rank, digits(tonumber(ticket))}
