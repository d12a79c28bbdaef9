-- HOLDERS: the holders of the lock, and their mode. An id is the token of an exclusive claim; readers queue
-- as 'shared TOKEN', claims for one of N permits as 'permits=N TOKEN', or, if these have names, as
-- 'one-of=NAME,NAME TOKEN' (with a tab for each blank in a name).
local PERMIT_BASE = 2 ^ 53  -- above every fence; permit n has the score PERMIT_BASE + 2 n, exact in a double

-- false: free; '' : not a string, so written by a foreign client
local owner = redis.pcall('GET', lock)
if type(owner) == 'table' then
  if not owner.err:find('WRONGTYPE', 1, true) then return owner end
  owner = ''
end

-- 'shared', 'permits=N' or 'one-of=NAME,NAME' while several hold: the lock's value is then a marker that
-- expires with the last of them.
local mode = owner and (owner:match('^rlock:(shared)$') or owner:match('^rlock:(permits=%d+)$') or
  owner:match('^rlock:(one%-of=[^ ]+)$'))

-- "<last fence> <the token it was issued to>"
local last_fence, last_token = 0, nil
local remembered = redis.pcall('GET', fence)
if type(remembered) == 'string' then
  local number, token = remembered:match('^(%d+) (.*)$')
  if number then last_fence, last_token = tonumber(number), token end
end

local function mode_of(id)
  return id:match('^(shared) ') or id:match('^(permits=%d+) ') or id:match('^(one%-of=[^ ]+) ') or 'exclusive'
end
local function token_of(id)
  return id:match('^shared (.*)$') or id:match('^permits=%d+ (.*)$') or id:match('^one%-of=[^ ]+ (.*)$') or id
end

-- One of several leaves. Call settle() afterwards.
local function drop_holder(token)
  redis.call('ZREM', held, token)
  redis.call('ZREM', grants, token, 'permit ' .. token)
end

-- Several hold: the marker expires with the last of their leases, and goes with the last holder. Returns
-- whether that is sooner than before: the waiters that look at the end of a lease expect a later one.
local function settle()
  local last = redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
  if not last then
    redis.call('DEL', lock, held, grants)
    owner, mode = false, nil
    return
  end
  local left = math.max(1, tonumber(last) - now)
  local sooner = left < redis.call('PTTL', lock) - 1  -- PEXPIRE counts from the call, a moment before TIME
  redis.call('SET', lock, 'rlock:' .. mode, 'PX', left)
  redis.call('PEXPIRE', held, left + 1000)
  redis.call('PEXPIRE', grants, left + 1000)
  return sooner
end

-- Whether it has an exclusive lock: the lock may only be reserved for that token, which is then queued.
local function has_it_alone(token) return owner == token and not redis.call('ZSCORE', queue, token) end

-- The current holders, if they are rlocks.
local function holders()
  if mode then return redis.call('ZRANGE', held, 0, -1) end
  if owner and owner == last_token and has_it_alone(owner) then return {owner} end
  return {}
end

-- How many may hold at once; nil: no limit.
local function capacity()
  local names = mode:match('^one%-of=(.*)$')
  if names then return select(2, names:gsub(',', '')) + 1 end
  return tonumber(mode:match('^permits=(%d+)$'))
end

local function has_room()
  local permits = capacity()
  return not permits or redis.call('ZCARD', held) < permits
end

-- A holder's permit number, from 1; nil: none (of an earlier version, or a reader).
local function permit_of(token)
  local score = redis.call('ZSCORE', grants, 'permit ' .. token)
  return score and (tonumber(score) - PERMIT_BASE) / 2 or nil
end
local function token_of_permit(member) return string.sub(member, 8) end

-- The lowest free permit number if there is room; 0 if there is none. Among the taken ones, in order, the
-- first that is higher than its index has a free one below it.
local function free_permit()
  for _ = 1, 2 do
    local low, high = 1, capacity() + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      local score = redis.call('ZRANGEBYSCORE', grants, digits(PERMIT_BASE), '+inf', 'WITHSCORES',
        'LIMIT', middle - 1, 1)[2]
      if score and (tonumber(score) - PERMIT_BASE) / 2 == middle then low = middle + 1 else high = middle end
    end
    if low <= capacity() then return low end
    -- A client of an earlier version has ended a hold and left its number behind.
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', grants, digits(PERMIT_BASE), '+inf')) do
      if not redis.call('ZSCORE', held, token_of_permit(member)) then redis.call('ZREM', grants, member) end
    end
  end
  return 0
end
