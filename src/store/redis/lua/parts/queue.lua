-- QUEUE: the waiters, their turns and wakes. `confirm_within`: ms for a woken waiter to enter again.
local HEARTBEAT_MS = 12000  -- the interval of every waiter's looks (wait.hpp)
local STAGGER_MS = 100      -- the first waiter comes at the end of a lease, each of the next this much later
local LOOKING_BEHIND = 9    -- how many of the next also come: all waiters of one host die together

local function first_waiter() return redis.call('ZRANGE', queue, 0, 0)[1] end

local function drop(id)
  redis.call('ZREM', queue, id)
  redis.call('ZREM', alive, id)
end

-- Drops waiters whose heartbeat stopped, and holders among several whose lease ended; at most 64 each in a
-- call, so that no call is slow. Returns the waiters.
local function purge()
  local dead = redis.call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)
  for _, id in ipairs(dead) do
    drop(id)
    redis.call('DEL', mailbox .. token_of(id))
  end
  if mode then
    local ended = redis.call('ZRANGEBYSCORE', held, '-inf', now, 'LIMIT', 0, 64)
    for _, token in ipairs(ended) do drop_holder(token) end
    if #ended > 0 or redis.call('ZCARD', held) == 0 then settle() end
  end
  return dead
end

-- The first waiter is about to be woken. Two witnesses look again soon, and take over if it is dead: the second
-- waiter, and the last, the likeliest to live if those at the head died together.
local function tell_witnesses(second)
  if not second then return end
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  post(token_of(second), 'next')
  if last ~= second then post(token_of(last), 'next') end
end

-- A waiter has left from `rank`: if it was a witness, and the first one has not come yet, others take its place.
local function replace_witness(rank, confirm_within)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local was_witness = rank == 1 or rank == redis.call('ZCARD', queue)
  if heads[2] and was_witness and
     tonumber(redis.call('ZSCORE', alive, heads[1]) or 0) <= now + confirm_within + 1 then
    tell_witnesses(heads[2])
  end
end

-- Corrects the waiters that look at the end of a lease (see enter). Those before rank `from` learn of it
-- otherwise.
local function tell_lookers(from)
  for _, id in ipairs(redis.call('ZRANGE', queue, from, LOOKING_BEHIND)) do post(token_of(id), 'next') end
end

-- Something has changed for the first waiter. If it may join the holders, wakes it, and it has
-- `confirm_within` ms to come, with witnesses; otherwise `next` tells it that it may have become the first,
-- and to look again whom it waits for.
local function tell_first(confirm_within)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local first = heads[1]
  if not first then return end
  if not (mode and mode_of(first) == mode and has_room()) then
    post(token_of(first), 'next')
    return
  end
  local deadline = now + confirm_within + 1
  if tonumber(redis.call('ZSCORE', alive, first) or 0) <= deadline then return end  -- it was woken before
  tell_witnesses(heads[2])
  post(token_of(first), 'wake')
  redis.call('ZADD', alive, deadline, first)
end

-- Passes the lock on: reserved for the first waiter, which has `confirm_within` ms, or free. A failing call
-- rolls nothing back, so the order is: wake, then reserve, else free. The witnesses, who only look again, are
-- told before: the server answers those that block the last one first.
local function handoff(confirm_within)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local first, second = heads[1], heads[2]
  mode = nil
  tell_witnesses(second)
  if first and post(token_of(first), 'wake') then
    local set = redis.pcall('SET', lock, first, 'PX', confirm_within)
    if not set.err then
      redis.call('ZADD', alive, now + confirm_within + 1, first)
      owner = first
      return
    end
  end
  redis.call('DEL', lock)
  owner = false
end

-- The first waiter did not come, and dead waiters are seldom alone (a crashed host): gives it a quarter of
-- the time, and the next 63 the same to show that they live. `caller` has just done so; the witnesses are
-- told.
local function roll_call(confirm_within, caller)
  local quarter = math.floor(confirm_within / 4)
  if owner then tell_first(quarter) else handoff(quarter) end
  if not owner then return end
  local deadline = now + quarter + 1
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  for rank, id in ipairs(redis.call('ZRANGE', queue, 1, 63)) do
    if id ~= caller and tonumber(redis.call('ZSCORE', alive, id) or 0) > deadline then
      if rank > 1 and id ~= last then post(token_of(id), 'next') end
      redis.call('ZADD', alive, deadline, id)
    end
  end
end
