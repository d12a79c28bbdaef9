-- The beginning of every script: names, the server's clock, and the acts they share.
-- KEYS  1 the lock   2 queue: id -> ticket (µs)   3 alive: id -> deadline (ms)   4 fence
--       5 held: token -> lease end (ms)   6 grants: token -> fence, and where there are permits,
--         'permit TOKEN' -> which; both only while several hold
--       7 runs: what is remembered of them, newest first   8 the slot of this run, if it has one
-- ARGV  1 what a mailbox's name begins with; the token of its owner follows
-- An id is the token of somebody who wants the lock alone; readers stand in the queue as
-- 'shared TOKEN', those who want one of N permits as 'permits=N TOKEN', and where these have names,
-- as 'one-of=NAME,NAME TOKEN' (a blank in a name is a tab there).
local lock, queue, alive, fence, held, grants = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local runs, slot = KEYS[7], KEYS[8]
local mailbox = ARGV[1]
local DAY = 86400000
local MAIL_LIFE = 60000      -- ms; a mailbox nobody reads vanishes by itself
local AFTER_FIRST = 100      -- ms; the first waiter comes at the end of a lease, each of the next so much later
local HEARTBEAT = 12000      -- ms; every waiter looks as often (wait.hpp)
local LOOKERS = 9            -- of these next ones: what stands on one host dies together
local REMEMBERED = 50        -- runs of a lock
local AUDIENCE = 1000        -- waiters who are told at once that a slot is done
local TOGETHER = 1000000     -- µs; who comes with the time of its own clock may be before those who came so long before
local AHEAD = 100000         -- µs; a fence is a time on our clock, or of one that is ahead by so much
local PERMITS = 2 ^ 53       -- above every fence; the score of the permit n is this and 2 n, which a double holds

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)

-- false: free; '' : a value that is no string, which only another kind of client can have written
local owner = redis.pcall('GET', lock)
if type(owner) == 'table' then
  if not owner.err:find('WRONGTYPE', 1, true) then return owner end
  owner = ''
end

-- 'shared', 'permits=N' or 'one-of=NAME,NAME' while several hold: then the lock's value is a marker,
-- and its expiry the last one of theirs.
local mode = owner and (owner:match('^rlock:(shared)$') or owner:match('^rlock:(permits=%d+)$') or
  owner:match('^rlock:(one%-of=[^ ]+)$'))

-- "<last fence> <the token it was given to>"
local last_fence, last_token = 0, nil
local remembered = redis.pcall('GET', fence)
if type(remembered) == 'string' then
  local number, token = remembered:match('^(%d+) (.*)$')
  if number then last_fence, last_token = tonumber(number), token end
end

-- µs since 1970 need 51 bits: exact in a double, but not in what tostring() makes of it
local function digits(number) return string.format('%.0f', number) end

local function mode_of(id)
  return id:match('^(shared) ') or id:match('^(permits=%d+) ') or id:match('^(one%-of=[^ ]+) ') or 'exclusive'
end
local function token_of(id)
  return id:match('^shared (.*)$') or id:match('^permits=%d+ (.*)$') or id:match('^one%-of=[^ ]+ (.*)$') or id
end

local function first_waiter() return redis.call('ZRANGE', queue, 0, 0)[1] end

local function drop(id)
  redis.call('ZREM', queue, id)
  redis.call('ZREM', alive, id)
end

-- One of several lets go. Call settle() afterwards.
local function drop_holder(token)
  redis.call('ZREM', held, token)
  redis.call('ZREM', grants, token, 'permit ' .. token)
end

-- Several hold: the marker stays as long as the last of their leases, and goes with the last holder.
-- Says whether that is sooner than it was: those who look at the end of a lease were told another.
local function settle()
  local last = redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
  if not last then
    redis.call('DEL', lock, held, grants)
    owner, mode = false, nil
    return
  end
  local left = math.max(1, tonumber(last) - now)
  local sooner = left < redis.call('PTTL', lock) - 1  -- which counts from the call, a moment before TIME
  redis.call('SET', lock, 'rlock:' .. mode, 'PX', left)
  redis.call('PEXPIRE', held, left + 1000)
  redis.call('PEXPIRE', grants, left + 1000)
  return sooner
end

-- Those who hold the lock now, if they are rlocks.
local function holders()
  if mode then return redis.call('ZRANGE', held, 0, -1) end
  if owner and owner == last_token then return {owner} end
  return {}
end

-- Waiters whose heartbeat stopped, and the holders among several whose lease ended; at most 64 each
-- in a call, so that no call is slow. Says which waiters.
local function purge()
  local dead = redis.call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)
  for _, id in ipairs(dead) do
    drop(id)
    redis.call('DEL', mailbox .. token_of(id))
  end
  if mode then
    local ended = redis.call('ZRANGEBYSCORE', held, '-inf', now, 'LIMIT', 0, 64)
    for _, token in ipairs(ended) do
      drop_holder(token)
      redis.call('DEL', mailbox .. token)
    end
    if #ended > 0 or redis.call('ZCARD', held) == 0 then settle() end
  end
  return dead
end

-- False if the message could not be put there.
local function post(token, message)
  local done = redis.pcall('RPUSH', mailbox .. token, message)
  if type(done) == 'table' then return false end
  redis.pcall('PEXPIRE', mailbox .. token, MAIL_LIFE)
  return true
end

-- The job of this holder has ended, and --min-hold keeps its lock: what leave wrote in place of its
-- mailbox, where no word arrives any more.
local function is_kept(token) return redis.pcall('GET', mailbox .. token) == 'kept' end

-- How many may hold at once; nil: any number.
local function capacity()
  local names = mode:match('^one%-of=(.*)$')
  if names then return select(2, names:gsub(',', '')) + 1 end
  return tonumber(mode:match('^permits=(%d+)$'))
end

local function has_room()
  local permits = capacity()
  return not permits or redis.call('ZCARD', held) < permits
end

-- Which of the permits a holder has, from 1; 0: none (of an earlier version, or a reader).
local function permit_of(token)
  local score = redis.call('ZSCORE', grants, 'permit ' .. token)
  return score and (tonumber(score) - PERMITS) / 2 or 0
end
local function token_of_permit(member) return string.sub(member, 8) end

-- The lowest number that nobody has, where there is room; 0 should there be none. Of those that are
-- taken, in order: where the one at a place is higher than its place, a lower one is free.
local function free_permit()
  for _ = 1, 2 do
    local low, high = 1, capacity() + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      local score = redis.call('ZRANGEBYSCORE', grants, digits(PERMITS), '+inf', 'WITHSCORES',
        'LIMIT', middle - 1, 1)[2]
      if score and (tonumber(score) - PERMITS) / 2 == middle then low = middle + 1 else high = middle end
    end
    if low <= capacity() then return low end
    -- A client of an earlier version has ended a hold, and left its number behind.
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', grants, digits(PERMITS), '+inf')) do
      if not redis.call('ZSCORE', held, token_of_permit(member)) then redis.call('ZREM', grants, member) end
    end
  end
  return 0
end

-- The first one was woken. Two witnesses look again soon, and take over if it is dead: the second,
-- and the last, which is the likeliest to live when those at the head died together.
local function tell_witnesses(second)
  if not second then return end
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  post(token_of(second), 'next')
  if last ~= second then post(token_of(last), 'next') end
end

-- What those were told who look at the end of a lease (see enter) is not true any more. Those before
-- rank `from` hear of it otherwise.
local function tell_lookers(from)
  for _, id in ipairs(redis.call('ZRANGE', queue, from, LOOKERS)) do post(token_of(id), 'next') end
end

-- Something has changed for the first waiter. If several hold and it may join them, it is woken and
-- has `claim` ms to come, before witnesses; else `next` tells it that it may have become the first,
-- and to look whom it waits for now.
local function tell_first(claim)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local first = heads[1]
  if not first then return end
  if not (mode and mode_of(first) == mode and has_room()) then
    post(token_of(first), 'next')
    return
  end
  local deadline = now + claim + 1
  if tonumber(redis.call('ZSCORE', alive, first) or 0) <= deadline then return end  -- it was woken before
  post(token_of(first), 'wake')
  redis.call('ZADD', alive, deadline, first)
  tell_witnesses(heads[2])
end

-- Gives the lock away: reserved for the first waiter, who has `claim` ms to confirm it, or free.
-- Nothing is rolled back when a call fails, so the order is: wake, then reserve, else free.
local function handoff(claim)
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local first, second = heads[1], heads[2]
  mode = nil
  if first and post(token_of(first), 'wake') then
    local set = redis.pcall('SET', lock, first, 'PX', claim)
    if not set.err then
      redis.call('ZADD', alive, now + claim + 1, first)
      tell_witnesses(second)
      owner = first
      return
    end
  end
  redis.call('DEL', lock)
  owner = false
end

-- The first one did not come, and the dead are seldom alone (a host that crashed): `claim` ms for it,
-- and for the next 63 to show that they live. `caller` does so right now, the witnesses are told.
local function roll_call(claim, caller)
  if owner then tell_first(claim) else handoff(claim) end
  if not owner then return end
  local deadline = now + claim + 1
  local last = redis.call('ZRANGE', queue, -1, -1)[1]
  for rank, id in ipairs(redis.call('ZRANGE', queue, 1, 63)) do
    if id ~= caller and tonumber(redis.call('ZSCORE', alive, id) or 0) > deadline then
      if rank > 1 and id ~= last then post(token_of(id), 'next') end
      redis.call('ZADD', alive, deadline, id)
    end
  end
end

-- A slot is 'running', 'open' or 'done': that, how many runs it has had, how many of these failed, and
--   of one that is done: OUTCOME, ENDED, FENCE and TOKEN
--   of one that is open: the token of the last run, or '' where that is not known
--   of one that runs: its token, and the token of the run before it, if that one's end was heard here
-- Returns these fields. The last one is '' unless the slot is running.
local function slot_state()
  local text = slot and redis.pcall('GET', slot)
  if type(text) ~= 'string' then return nil, 0, 0, '', '' end
  local state, attempt, failures, rest = text:match('^(%a+)\t(%d+)\t(%d+)\t?(.*)$')
  local before = ''
  if state == 'running' then rest, before = rest:match('^([^\t]*)\t?(.*)$') end
  return state, tonumber(attempt or 0), tonumber(failures or 0), rest, before
end

-- One that goes on is remembered for a day at least: it may take longer than it is to be remembered.
local function set_slot(state, attempt, failures, rest, history)
  if state == 'running' then history = math.max(history, DAY) end
  local text = table.concat({state, digits(attempt), digits(failures), rest}, '\t')
  return redis.call('SET', slot, text, 'PX', history)
end

-- The acts of store/rules/slot, which has them in C++ for other stores: with_run, without_run, after_run.
-- A run for the slot begins. The run before it may say once more that it has ended, also after this one was
-- taken back: so its token stays.
local function with_run(token, attempt, failures, history)
  local state, _, _, rest, before = slot_state()
  if state == 'open' then before = rest elseif rest ~= token then before = '' end
  set_slot('running', attempt, failures, before == '' and token or token .. '\t' .. before, history)
end

-- The run of that token, for the slot, never was.
local function without_run(token, history)
  local state, number, failures, rest, before = slot_state()
  if state ~= 'running' or rest ~= token then return end
  if before == token then
    set_slot('open', number, failures, token, history)
  elseif number > 1 then
    set_slot('open', number - 1, failures, before, history)
  else
    redis.call('DEL', slot)
  end
end

-- The run of the holder, for the slot, has ended: 'done', 'failed' or 'open'.
-- Whoever waits is told that it is done; those behind the first thousand by those who leave (see enter).
-- The holder knows its number, and how many failed before it: a server of a quorum may have missed some.
-- `numbered`: the fence of the run, if that is known.
local function after_run(token, attempt, failed, how, retries, told, history, numbered)
  local state, number, failures, rest, before = slot_state()
  local ours = state == 'running' and rest == token
  -- A release that is heard again ends no second run: not when the slot is as the first one left it, and not when
  -- a claim of the same run was heard between the two.
  if before == token then
    if ours then set_slot('open', number, failures, token, history) end
    return
  end
  if state == 'done' or state == 'open' and rest == token then return end
  failures = math.max(failures, failed)
  if how == 'open' or how == 'failed' and failures < retries then
    set_slot('open', attempt, failures + (how == 'failed' and 1 or 0), token, history)
  else
    local outcome = told:match('^[^\t]*')
    set_slot('done', attempt, failures, table.concat({outcome, digits(now), numbered or '0', token}, '\t'), history)
    for _, id in ipairs(redis.call('ZRANGE', queue, 0, AUDIENCE - 1)) do post(token_of(id), 'done') end
  end
end

-- A line of the memory of runs. No room for it is no reason to refuse a lock.
local function add_run(line)
  local length = redis.pcall('LPUSH', runs, line)
  if type(length) == 'table' then return false end
  if length > REMEMBERED then redis.pcall('LTRIM', runs, 0, REMEMBERED - 1) end
  return true
end

-- The memory of runs: a line each, a tab between its fields. A grant begins one, which says who has
-- the lock and since when, and perhaps what for; the release ends it. One that has no end, and whose
-- token does not have the lock any more, was lost.
local function begin_run(token, number, told, history, ttl, attempt, reason)
  if history == 0 then return end
  local line = digits(number) .. '\t' .. token .. '\t' .. digits(now) .. '\t' .. told .. '\t' .. attempt
  if reason ~= '' then line = line .. '\t' .. reason end
  if add_run(line) then redis.call('PEXPIRE', runs, history + ttl) end
end

-- `told` is '' for a run that never was; `history` is 0 or nil for one who does not say. `granted` is
-- the fence of one among several that has the lock still: where more have begun since than are
-- remembered, its line is gone, and it is not to be forgotten because it took long. `known` is the
-- fence as its holder knows it, if it says so; so is `attempt`, which a server of a quorum that missed
-- a run has counted too low. Returns the fence of the run, if that is known.
local function end_run(token, told, history, granted, known, attempt)
  local number = known or token == last_token and digits(last_fence)  -- in a quorum it was raised since
  for rank = 0, REMEMBERED - 1 do
    local line = redis.pcall('LINDEX', runs, rank)
    if type(line) ~= 'string' then break end
    local remembered_as, whose = line:match('^(%d+)\t([^\t]*)\t')
    if whose == token then
      local begun, its, reason = line:match('^%d+\t[^\t]*(\t%d+\t[^\t]*\t[^\t]*\t)([^\t]*)(\t?[^\t]*)$')
      if begun and told == '' then
        redis.pcall('LREM', runs, 1, line)
      elseif begun then
        redis.pcall('LSET', runs, rank,
          table.concat({number or remembered_as, '\t', token, begun, its ~= '' and attempt or its, '\t', digits(now),
            '\t', told, reason}))
      end
      if begun and (history or 0) > 0 then redis.call('PEXPIRE', runs, history) end
      return number or remembered_as
    end
  end
  if granted and told ~= '' and (history or 0) > 0 then
    local began = digits(math.floor(granted / 1000))
    add_run(table.concat({digits(granted), token, began, '0', '', '', digits(now), told}, '\t'))
  end
  return number
end

-- What a holder said that it wants the lock for, if it was granted the lock last; or ''.
local function reason_of(holder)
  local line = redis.pcall('LINDEX', runs, 0)
  if type(line) ~= 'string' then return '' end
  local token, reason = line:match('^%d+\t([^\t]*)\t%d+\t[^\t]*\t[^\t]*\t[^\t]*\t([^\t]*)$')
  return token == holder and reason or ''
end

-- -1, unknown: the clock went back. (The clocks of a quorum, whose highest number all take over, may differ a little.)
local function age_ms(number)
  local age = math.floor((now_us - number) / 1000)
  return age < -1000 and -1 or math.max(0, age)
end

-- token of the holder (the first of several), PTTL, ms since its grant or -1, kind, how many more hold
-- kind is none, holder, kept, reserved or foreign
local function occupant()
  if not owner then return '', -2, -1, 'none', 0 end
  local left = redis.call('PTTL', lock)
  if mode then
    local oldest = redis.call('ZRANGE', grants, 0, 0, 'WITHSCORES')
    return oldest[1] or '', left, oldest[2] and age_ms(oldest[2]) or -1,
           oldest[1] and is_kept(oldest[1]) and 'kept' or 'holder', math.max(0, redis.call('ZCARD', held) - 1)
  end
  if owner ~= '' and owner == last_token then
    return owner, left, age_ms(last_fence), is_kept(owner) and 'kept' or 'holder', 0
  end
  if owner ~= '' and owner == first_waiter() then
    return token_of(owner), left, -1, 'reserved', 0
  end
  return owner, left, -1, 'foreign', 0
end
