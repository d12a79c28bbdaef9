-- The beginning of every script: names, the server's clock, and the acts they share.
-- KEYS  1 the lock   2 queue: id -> ticket (µs)   3 alive: id -> deadline (ms)   4 fence
-- ARGV  1 what a mailbox's name begins with; the id of its owner follows
local lock, queue, alive, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local mailbox = ARGV[1]
local DAY = 86400000
local MAIL_LIFE = 60000      -- ms; a mailbox nobody reads vanishes by itself

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)

-- false: free; '' : a value that is no string, which only another kind of client can have written
local owner = redis.pcall('GET', lock)
if type(owner) == 'table' then
  if not owner.err:find('WRONGTYPE', 1, true) then return owner end
  owner = ''
end

-- "<last fence> <the token it was given to>"
local last_fence, last_token = 0, nil
local remembered = redis.pcall('GET', fence)
if type(remembered) == 'string' then
  local number, token = remembered:match('^(%d+) (.*)$')
  if number then last_fence, last_token = tonumber(number), token end
end

-- µs since 1970 need 51 bits: exact in a double, but not in what tostring() makes of it
local function digits(number) return string.format('%.0f', number) end

local function drop(id)
  redis.call('ZREM', queue, id)
  redis.call('ZREM', alive, id)
end

-- Waiters whose heartbeat stopped; at most 64 a call, so that no call is slow.
local function purge()
  local dead = redis.call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)
  for _, id in ipairs(dead) do
    drop(id)
    redis.call('DEL', mailbox .. id)
  end
  return #dead
end

-- False if the message could not be put there.
local function post(id, message)
  local done = redis.pcall('RPUSH', mailbox .. id, message)
  if type(done) == 'table' then return false end
  redis.pcall('PEXPIRE', mailbox .. id, MAIL_LIFE)
  return true
end

-- `next` tells a waiter that it may have become the first, and whom it waits for now.
local function tell_first()
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  if first then post(first, 'next') end
end

-- Gives the lock away: reserved for the first waiter, who has `claim` ms to confirm it, or free.
-- The second one is its witness: it looks again soon, and takes over if the first is dead.
-- Nothing is rolled back when a call fails, so the order is: wake, then reserve, else free.
local function handoff(claim)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local first = heads[1]
  if first and post(first, 'wake') then
    local set = redis.pcall('SET', lock, first, 'PX', claim)
    if not set.err then
      redis.call('ZADD', alive, now + claim + 1, first)
      if heads[2] then post(heads[2], 'next') end
      owner = first
      return
    end
  end
  redis.call('DEL', lock)
  owner = false
end

-- {owner, PTTL, ms since the grant or -1, kind}: kind is none, holder, reserved or foreign
local function occupant()
  if not owner then return '', -2, -1, 'none' end
  local left = redis.call('PTTL', lock)
  if owner ~= '' and owner == last_token then
    return owner, left, math.max(0, math.floor((now_us - last_fence) / 1000)), 'holder'
  end
  if owner ~= '' and owner == redis.call('ZRANGE', queue, 0, 0)[1] then
    return owner, left, -1, 'reserved'
  end
  return owner, left, -1, 'foreign'
end
