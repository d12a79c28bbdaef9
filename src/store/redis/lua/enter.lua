-- parts: keys mail holders queue slot runs wire
-- ENTER: acquire the lock if it is free and our turn; otherwise queue for it, or return its holder.
-- named  id   ttl: ms   confirm_within: ms for a woken waiter
--        patience: ms for which we count as alive; absent: do not queue
--        ticket: from an earlier answer   newcomer: the ticket is new, the time of the client's clock
--        max_waiters: do not queue behind that many
--        supersede: the message for superseded runs   spare_holders: only dismiss waiters
--        tried: ms since our first try with a lost answer
--        fence: to be issued if possible, so that all servers of a quorum issue the same one
--        history: ms to keep the run's record; absent: none
--        run_begin: the claim's part of the record   reason: why the lock is wanted
-- result {'granted', fence, attempt and failures: the number of the run for the slot, and how many of these
--          failed; permit: its number; again: 1 if the token already had the lock}
--        {'busy', holder: see occupant(); waiting: how many}
--        {'queued', holder, ahead: how many wait before us; ticket; look_in: ms until something may change
--          without a message; typical_run: ms that a run takes}
--        {'done', attempt, outcome, ago: ms since its end; fence, token}
--        {'mismatch', mode, token}: another token holds or waits for the lock in an incompatible mode
--        an error RLOCK: no higher fence is possible
-- Repeating it with the same id is always safe: it finds a grant whose answer was lost, confirms a
-- reservation, or keeps the position.
local SAME_TIME_US = 1000000  -- a client's own ticket may overtake tickets that are older by at most this
local CLOCK_SKEW_US = 100000  -- a fence is a time of our clock, or of one that is ahead by at most this

local arg = named_arguments()
local id, ttl, confirm_within = arg.id, tonumber(arg.ttl), tonumber(arg.confirm_within)
local want, token = mode_of(id), token_of(id)
local tried = tonumber(arg.tried or 0)
local dead = purge()
local state, attempt, failures, rest = slot_state()
local first = first_waiter()

local function granted(number, permit, again)
  -- The number of the grant: another run of the slot may have begun or told its end since.
  if again and slot and rest ~= token then attempt = run_number(token) or attempt end
  return answer({'granted'}, 'fence', digits(number), 'attempt', slot and attempt, 'failures', slot and failures,
    'permit', permit, 'again', again)
end

-- The answer to the earlier grant was lost.
local function already_held()
  -- A holder is not in the queue. A waiter that once returned a grant may have the lock reserved for it,
  -- which is not a grant yet.
  if owner == id and last_token == token and not redis.call('ZRANK', queue, id) then
    redis.call('PEXPIRE', lock, ttl)
    return granted(last_fence, nil, 1)
  end
  local number = mode and redis.call('ZSCORE', grants, token)
  if not number then return end
  redis.call('ZADD', held, now + ttl, token)
  settle()
  return granted(tonumber(number), permit_of(token), 1)
end

-- Nothing is left to do: a waiter leaves, and the turn passes on.
local function slot_done()
  if state ~= 'done' then return end
  local rank = redis.call('ZRANK', queue, id)
  if rank then
    drop(id)
    redis.call('DEL', mailbox .. token)
  end
  if owner == id then
    handoff(confirm_within)
  elseif not owner then
    roll_call(confirm_within, id)  -- a reservation, ours or another's, was not confirmed
  elseif rank then
    if rank == 0 then tell_first(confirm_within) end
    replace_witness(rank, confirm_within)
  end
  if rank then
    local behind = redis.call('ZRANGE', queue, TOLD_AT_ONCE - 1, TOLD_AT_ONCE - 1)[1]
    if behind then post(token_of(behind), 'done') end
  end
  local outcome, ended, number, by = rest:match('^([^\t]*)\t(%d+)\t(%d+)\t(.*)$')
  return answer({'done'}, 'attempt', attempt, 'outcome', outcome, 'ago', math.max(0, now - (tonumber(ended) or now)),
    'fence', number, 'token', by)
end

-- Only a foreign client writes such a number. Beyond it a double has no exact next integer.
local function no_higher_fence()
  if last_fence < 9007199254740990 then return end
  return redis.error_reply('RLOCK the fence of this lock is ' .. string.sub(remembered:match('%d+'), 1, 40) ..
    ', which leaves no room for a higher one; if nothing depends on it, delete the key ' .. fence)
end

-- Readers and writers are compatible; so are claims with the same number of permits.
local function go_together(one, other)
  local function family(some) return some == 'exclusive' and 'shared' or some end
  return family(one) == family(other)
end
local function mismatch()
  local others, who
  if mode then
    others, who = mode, redis.call('ZRANGE', grants, 0, 0)[1] or ''
  elseif first and first ~= id then
    others, who = mode_of(first), token_of(first)
  elseif owner and owner == last_token then
    others, who = 'exclusive', owner
  end
  if not others or go_together(others, want) then return end
  return answer({'mismatch'}, 'mode', others, 'token', string.sub(who, 1, 400))
end

-- Newest wins: dismiss waiters, and ask holders to stop unless they are spared. A repeated try spares claims
-- that arrived after its first try, and spares all if the first one was processed after all and a message to
-- us has been written since.
local function send_away()
  if tried > 0 and redis.call('PTTL', mailbox .. token) ~= -2 then return end
  local newest = tried > 0 and now_us - tried * 1000 or math.huge
  local stop = 'stop - ' .. arg.supersede
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
  -- A purged waiter may only be slow: ask it to stop as well.
  for _, other in ipairs(tried == 0 and dead or {}) do
    if other ~= id then post(token_of(other), stop) end
  end
  for _, holder in ipairs(arg.spare_holders and {} or holders()) do
    local number = mode and redis.call('ZSCORE', grants, holder) or last_fence
    if tonumber(number) <= newest then post(holder, stop) end
  end
  first = first_waiter()
end

-- The ticket that we bring. A client's own clock ranks it among simultaneous arrivals, in the same position
-- on each server of a quorum. A clock that is behind does not place it before waiters that were here.
local function my_ticket()
  if not arg.newcomer or not first then return arg.ticket end
  local there = redis.call('ZSCORE', queue, id)
  if there then return digits(tonumber(there)) end
  local last = tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2])
  return tonumber(arg.ticket) < last - SAME_TIME_US and digits(last + 1) or arg.ticket
end

local function is_my_turn(ticket)
  if not first or first == id then return true end
  -- A waiter that was away long enough to lose its position comes back before later ones.
  return ticket and tonumber(ticket) < tonumber(redis.call('ZSCORE', queue, first))
end

-- It was sent away after it had been woken, and reads of that only after its wake: until then it has neither
-- a turn nor a position.
local function was_sent_away(ticket)
  if not ticket or arg.newcomer or first == id or redis.call('ZSCORE', queue, id) then return false end
  for _, message in ipairs(redis.pcall('LRANGE', mailbox .. token, 0, -1)) do
    if message:sub(1, 5) == 'stop ' then return true end
  end
  return false
end

local function grant()
  local wish = tonumber(arg.fence or 0)
  if wish < now_us or wish > now_us + CLOCK_SKEW_US then wish = now_us end
  local number, permit = math.max(last_fence + 1, wish), nil
  redis.call('SET', fence, digits(number) .. ' ' .. token, 'PX', DAY_MS + ttl)
  local was_told = owner == id
  if want == 'exclusive' then
    redis.call('SET', lock, id, 'PX', ttl)
    owner = id
  else
    if not mode then redis.call('DEL', held, grants) end
    mode = want
    if capacity() then
      permit = free_permit()
      redis.call('ZADD', grants, digits(PERMIT_BASE + 2 * permit), 'permit ' .. token)
    end
    redis.call('ZADD', held, now + ttl, token)
    redis.call('ZADD', grants, digits(number), token)
    settle()
  end
  if first then
    drop(id)
    -- After a hand-off the witness looks by itself; here no message was sent, or there is more room.
    if mode or not was_told then tell_first(confirm_within) end
    -- The lease may end before the holder's that they saw, or before the reservation that the new first
    -- waiter may have been told of.
    if was_told and ttl < HEARTBEAT_MS then tell_lookers(ttl < confirm_within and 0 or 1) end
  end
  if tried > 0 then end_run(token, nil, {}) end  -- a grant whose answer was lost, and that has expired
  local history = tonumber(arg.history or 0)
  if slot then
    -- A late claim of a run whose end arrived here is also that run.
    if state ~= 'running' and state ~= 'open' or rest ~= token then attempt = attempt + 1 end
    with_run(token, attempt, failures, history + ttl)
  end
  begin_run(token, number, arg, history, ttl, slot and digits(attempt) or '')
  return granted(number, permit, nil)
end

local function busy(waiting)
  if #dead > 0 then tell_first(confirm_within) end
  return answer({'busy'}, 'holder', (occupant()), 'waiting', waiting)
end

local function stand(ticket)
  local patience = tonumber(arg.patience)
  local place = redis.call('ZSCORE', queue, id)
  local waiting = redis.call('ZCARD', queue)
  local crowded = not place and not arg.ticket and waiting >= (tonumber(arg.max_waiters) or math.huge)
  if not patience or crowded then return busy(waiting) end
  if not place and was_sent_away(ticket) then
    if #dead > 0 then tell_first(confirm_within) end
    return answer({'queued'}, 'holder', (occupant()), 'ahead', waiting, 'ticket', digits(tonumber(ticket)))
  end

  if not place then
    place = ticket
    if not place then
      local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
      place = digits(math.max(last and last + 1 or 0, now_us))
    end
    redis.call('ZADD', queue, place, id)
  end
  redis.call('ZADD', alive, now + patience, id)
  redis.call('PEXPIRE', queue, 2 * patience)
  redis.call('PEXPIRE', alive, 2 * patience)
  local rank = redis.call('ZRANK', queue, id)
  local ahead = rank > 0 and first_waiter()
  -- There is room for the first waiter, which did not come.
  local not_come = ahead and mode and mode == mode_of(ahead) and has_room()
  if not_come and #dead > 0 then
    roll_call(confirm_within, id)
  elseif not_come or ahead and #dead > 0 then
    tell_first(confirm_within)
  end

  local holder, left, kind = occupant()
  -- The first permit that ends is enough.
  local soonest = mode == want and redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')[2]
  local room_in = soonest and math.max(0, tonumber(soonest) - now) or left
  local look_in
  if not ahead then
    look_in = room_in
  elseif not_come or kind == 'reserved' then
    look_in = math.max(0, tonumber(redis.call('ZSCORE', alive, ahead)) - now + 1)
  elseif rank <= LOOKING_BEHIND and room_in then
    -- Waiters ahead of us may be dead. A living one comes when the lease ends, and we find it there.
    look_in = room_in + rank * STAGGER_MS
  end
  return answer({'queued'}, 'holder', holder, 'ahead', rank, 'ticket', digits(tonumber(place)), 'look_in', look_in,
    'typical_run', typical_run())
end

local reply = already_held() or slot_done() or no_higher_fence() or mismatch()
if reply then return reply end
if arg.supersede then send_away() end
local ticket = my_ticket()
local room = not owner or want == mode and has_room()
if owner == id or room and is_my_turn(ticket) and not was_sent_away(ticket) then return grant() end
-- Free, but others were here first: the holder's lease ended, or the first waiter did not confirm.
if not owner then roll_call(confirm_within, id) end
return stand(ticket)
