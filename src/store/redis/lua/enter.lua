-- ENTER: take the lock if it is free and our turn; otherwise queue for it, or say who has it.
-- ARGV  2 id   3 ttl ms   4 claim ms   5 grace ms, 0: do not queue   6 ticket to come back with, or ''
--       7 do not queue behind so many, or ''   8 what to tell those we supersede, or ''
--       9 ms since our first try whose answer was lost, 0: none was
--       10 ms to remember the run for, 0: not at all   11 what the claim says of it
--       12 'waiting': those who hold are not superseded   13 what the lock is wanted for, or ''
--       14 'new': nobody has had the ticket yet, it is the time of the client's clock
--       15 the fence that it is to have, so that the servers of a quorum give the same one; if they can
-- result  {'granted', fence, the number of the run for the slot or 0, how many of these failed,
--          which of the permits or 0, 1 if it had the lock before}
--         {'busy', token, PTTL, held ms, kind, more holders, waiters, reason}
--         {'queued', token, PTTL, held ms, kind, more holders, waiters ahead, ticket,
--          ms until something can happen of which nobody tells, or -1, ms that a run takes, or -1, reason}
--         {'done', number of the run for the slot, outcome, ms since its end, fence, token}
--         {'mismatch', mode, token}: somebody holds or waits for the lock in another way
--         an error RLOCK: the fence leaves no room for a higher one
-- Asking again with the same id is always right: it finds the grant whose answer was lost, confirms
-- a reservation, or keeps its place.
local id, ttl, claim, grace = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local want, token = mode_of(id), token_of(id)
local dead = purge()
local state, attempt, failures, rest = slot_state()

-- A holder is not in the queue. A waiter that once gave back a grant may have the lock reserved for it, which is no
-- grant yet.
if owner == id and last_token == token and not redis.call('ZRANK', queue, id) then
  redis.call('PEXPIRE', lock, ttl)
  return {'granted', digits(last_fence), slot and attempt or 0, failures, 0, 1}
end
local mine = mode and redis.call('ZSCORE', grants, token)
if mine then
  redis.call('ZADD', held, now + ttl, token)
  settle()
  return {'granted', digits(tonumber(mine)), slot and attempt or 0, failures, permit_of(token), 1}
end

-- Nothing is left to do: whoever waits leaves, and the turn goes on.
if state == 'done' then
  local rank = redis.call('ZRANK', queue, id)
  if rank then
    drop(id)
    redis.call('DEL', mailbox .. token)
  end
  if owner == id then
    handoff(claim)
  elseif not owner then
    roll_call(math.floor(claim / 4), id)  -- what was reserved for us, or another, was not confirmed
  elseif rank == 0 then
    tell_first(claim)
  end
  if rank then
    local behind = redis.call('ZRANGE', queue, AUDIENCE - 1, AUDIENCE - 1)[1]
    if behind then post(token_of(behind), 'done') end
  end
  local outcome, ended, number, by = rest:match('^([^\t]*)\t(%d+)\t(%d+)\t(.*)$')
  return {'done', attempt, outcome or '', math.max(0, now - (tonumber(ended) or now)), number or '0', by or ''}
end

-- Only another kind of client writes such a number. Beyond it a double has no next integer.
if last_fence >= 9007199254740990 then
  return redis.error_reply('RLOCK the fence of this lock is ' .. string.sub(remembered:match('%d+'), 1, 40) ..
    ', which leaves no room for a higher one; if nothing depends on it, delete the key ' .. fence)
end

-- Readers and writers go together; so do those who agree on the number of permits.
local function go_together(one, other)
  local function family(some) return some == 'exclusive' and 'shared' or some end
  return family(one) == family(other)
end
local first = first_waiter()
local others, who
if mode then
  others, who = mode, occupant()
elseif first and first ~= id then
  others, who = mode_of(first), token_of(first)
elseif owner and owner == last_token then
  others, who = 'exclusive', owner
end
if others and not go_together(others, want) then
  return {'mismatch', others, string.sub(who, 1, 400)}
end

-- Newest wins: whoever waits is sent away, whoever holds is asked to stop, if that is wanted. One that tries again
-- spares those who came after its first try; and everybody, if that one was heard after all and
-- somebody has written to us since.
local again = tonumber(ARGV[9] or 0)
local heard = again > 0 and redis.call('PTTL', mailbox .. token) ~= -2
if ARGV[8] ~= '' and not heard then
  local newest = again > 0 and now_us - again * 1000 or math.huge
  local stop = 'stop - ' .. ARGV[8]
  local waiting = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')
  for i = 1, #waiting, 2 do
    local other = waiting[i]
    if other == id or tonumber(waiting[i + 1]) > newest then break end
    post(token_of(other), stop)
    drop(other)
    if owner == other then
      redis.call('DEL', lock)
      owner = false
    end
  end
  -- Those that seem dead may come back.
  for _, other in ipairs(again == 0 and dead or {}) do
    if other ~= id then post(token_of(other), stop) end
  end
  for _, holder in ipairs(ARGV[12] == 'waiting' and {} or holders()) do
    local number = mode and redis.call('ZSCORE', grants, holder) or last_fence
    if tonumber(number) <= newest then post(holder, stop) end
  end
  first = first_waiter()
end

-- By the clock of a client: who comes at the same time as others stands among them, on each server of a quorum
-- in the same place. A clock that is behind does not bring it before those who were here.
local hint = ARGV[6]
if ARGV[14] == 'new' and first then
  local there = redis.call('ZSCORE', queue, id)
  local last = tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2])
  if there then
    hint = digits(tonumber(there))
  elseif tonumber(hint) < last - TOGETHER then
    hint = digits(last + 1)
  end
end

local my_turn = not first or first == id
-- One that was away for so long that it lost its place comes back before those who came after it.
if not my_turn and hint ~= '' then
  my_turn = tonumber(hint) < tonumber(redis.call('ZSCORE', queue, first))
end
-- It was sent away after it had been woken, and hears of that when it waits on.
if my_turn and first ~= id and hint ~= '' and ARGV[14] ~= 'new' then
  for _, message in ipairs(redis.pcall('LRANGE', mailbox .. token, 0, -1)) do
    if message:sub(1, 5) == 'stop ' then my_turn = false end
  end
end
if owner == id or my_turn and (not owner or want == mode and has_room()) then
  local wish = tonumber(ARGV[15] or 0)
  if wish < now_us or wish > now_us + AHEAD then wish = now_us end
  local number, permit = math.max(last_fence + 1, wish), 0
  redis.call('SET', fence, digits(number) .. ' ' .. token, 'PX', DAY + ttl)
  local was_told = owner == id
  if want == 'exclusive' then
    redis.call('SET', lock, id, 'PX', ttl)
    owner = id
  else
    if not mode then redis.call('DEL', held, grants) end
    mode = want
    if capacity() then
      permit = free_permit()
      redis.call('ZADD', grants, digits(PERMITS + 2 * permit), 'permit ' .. token)
    end
    redis.call('ZADD', held, now + ttl, token)
    redis.call('ZADD', grants, digits(number), token)
    settle()
  end
  if first then
    drop(id)
    -- After a hand-off the witness looks by itself; here nobody was told, or there is more room.
    if mode or not was_told then tell_first(claim) end
    -- The lease may end before that of the holder which they saw; or before the reservation, which
    -- the new first one may have been told of.
    if was_told and ttl < HEARTBEAT then tell_lookers(ttl < claim and 0 or 1) end
  end
  if again > 0 then end_run(token, '') end  -- a grant that was not heard, and is over
  local history = tonumber(ARGV[10] or 0)
  if slot then
    -- Also a late claim of a run whose end was heard here is that run.
    if state ~= 'running' and state ~= 'open' or rest ~= token then attempt = attempt + 1 end
    with_run(token, attempt, failures, history + ttl)
  end
  begin_run(token, number, ARGV[11] or '', history, ttl, slot and digits(attempt) or '', ARGV[13] or '')
  return {'granted', digits(number), slot and attempt or 0, failures, permit, 0}
end

-- Free, but others were here first: the holder's lease ended, or the first one did not confirm.
if not owner then roll_call(math.floor(claim / 4), id) end

local ticket = redis.call('ZSCORE', queue, id)
local waiting = redis.call('ZCARD', queue)
local crowded = not ticket and ARGV[6] == '' and waiting >= (tonumber(ARGV[7]) or math.huge)
if grace == 0 or crowded then
  if #dead > 0 then tell_first(claim) end
  local holder, left, since, kind, more = occupant()
  return {'busy', string.sub(holder, 1, 400), left, since, kind, more, waiting, reason_of(holder)}
end

if not ticket then
  ticket = hint
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
local ahead = rank > 0 and first_waiter()
-- There is room for the first one, which did not come for it.
local not_come = ahead and mode and mode == mode_of(ahead) and has_room()
if not_come and #dead > 0 then
  roll_call(math.floor(claim / 4), id)
elseif not_come or ahead and #dead > 0 then
  tell_first(claim)
end

-- For whoever waits: the median of those of the last runs that ended by themselves (typical_length()
-- of store/rules/runs is the same).
local function typical_run()
  local lengths = {}
  for _, line in ipairs(redis.pcall('LRANGE', runs, 0, 19)) do
    local begun, ended, how = line:match('^%d+\t[^\t]*\t(%d+)\t[^\t]*\t[^\t]*\t[^\t]*\t(%d+)\t(%a+)')
    if how == 'exited' or how == 'released' then lengths[#lengths + 1] = math.max(0, ended - begun) end
  end
  table.sort(lengths)
  return lengths[math.ceil(#lengths / 2)] or -1
end

local holder, left, since, kind, more = occupant()
-- Of several permits the first one that ends is enough.
local soonest = mode == want and redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')[2]
local room_in = soonest and math.max(0, tonumber(soonest) - now) or left
local look_in = -1
if not ahead then
  look_in = room_in
elseif not_come or kind == 'reserved' then
  look_in = math.max(0, tonumber(redis.call('ZSCORE', alive, ahead)) - now + 1)
elseif rank <= LOOKERS and room_in >= 0 then
  -- Those ahead of us may be dead. If one lives, it comes when the lease ends, and we find it there.
  look_in = room_in + rank * AFTER_FIRST
end
return {'queued', string.sub(holder, 1, 400), left, since, kind, more, rank, digits(tonumber(ticket)), look_in,
        typical_run(), reason_of(holder)}
