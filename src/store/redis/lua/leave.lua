-- parts: keys mail holders queue slot runs wire
-- LEAVE: give the lock back, or stop wanting it.
-- named  id: to give back, a token is enough   confirm_within: ms, for one that is woken
--        how: 'release' or 'cancel'
--        min_hold: ms after the grant for which the lock stays taken although it is given back
--        history: ms to remember the run for   run_end: what the release says of it; absent: it never was
--        fence: of the grant; the server may have lost it, or know another one (a quorum's)
--        of a slot, see after_run(): slot_end   retries   attempt   failures
-- result  1 given back (or no longer wanted)   0 nobody had it any more   -1 somebody else has it
-- A cancelled id may have been granted the lock without hearing of it: then that is given back.
local arg = named_arguments()
local id, confirm_within, how = arg.id, tonumber(arg.confirm_within), arg.how
local min_hold = tonumber(arg.min_hold or 0)
local token = token_of(id)
purge()
redis.call('DEL', mailbox .. token)
local rank = redis.call('ZRANK', queue, id)
if rank then drop(id) end
local number = mode and redis.call('ZSCORE', grants, token)
local holds = owner == id or number

-- The lease may have ended on the way here; the run has ended all the same, or never was.
local function remember()
  local state, _, _, whose = slot_state()
  -- Not because the lock is: a server of a quorum may have heard the end of a later run meanwhile.
  local slot_is_ours = state == 'running' and whose == token
  if not (how == 'release' or holds or slot_is_ours or last_token == token) then return end
  local history = tonumber(arg.history or 0)
  local stays_for = history + min_hold
  local numbered = end_run(token, arg.run_end, {history = stays_for, granted = history > 0 and tonumber(number),
    fence = arg.fence, attempt = arg.attempt})
  -- A server that lost its data hears what the run came to, and so does one of a quorum that missed our
  -- grant: later it may be one of a majority.
  if slot and arg.slot_end then
    after_run(token, arg, stays_for, numbered)
  elseif slot_is_ours then
    without_run(token, stays_for)
  end
end

local function give_back()
  -- A grant in the future (the clock was set back) must not make it longer than it was meant.
  local granted = tonumber(number or owner == last_token and last_fence or now_us)
  local sooner = false
  local stays = rank and 0 or math.ceil(min_hold - math.max(0, now_us - granted) / 1000)  -- rank: only reserved
  if number then
    if stays > 0 then redis.call('ZADD', held, now + stays, token) else drop_holder(token) end
    sooner = settle()
  elseif stays > 0 then
    redis.call('PEXPIRE', lock, stays)
  end
  if stays > 0 then
    redis.call('PEXPIRE', fence, DAY_MS + stays)
    redis.pcall('SET', mailbox .. token, 'kept', 'PX', stays)  -- for people: see is_kept
  end
  if not mode and stays <= 0 then handoff(confirm_within) else tell_first(confirm_within) end
  if stays > 0 or sooner then tell_lookers(1) end  -- it ends sooner than they were told
end

local function leave_queue()
  if not owner then
    roll_call(confirm_within, id)  -- others were here before: see enter
  elseif rank then
    if rank < 2 then tell_first(confirm_within) end
    -- One of the witnesses goes (see tell_witnesses), and the first one has not come yet.
    local heads = redis.call('ZRANGE', queue, 0, 1)
    local was_witness = rank == 1 or rank == redis.call('ZCARD', queue)
    if heads[2] and was_witness and
       tonumber(redis.call('ZSCORE', alive, heads[1]) or 0) <= now + confirm_within + 1 then
      tell_witnesses(heads[2])
    end
  end
end

remember()
if holds then
  give_back()
elseif how == 'release' then
  return owner and -1 or 0
else
  leave_queue()
end
return 1
