-- parts: keys mail holders queue slot runs wire
-- LEAVE: release the lock, or leave the queue.
-- named  id: for a release, a token is enough   confirm_within: ms for a woken waiter
--        how: 'release' or 'cancel'
--        min_hold: ms after the grant for which the lock stays taken although it is released
--        history: ms to keep the run's record   run_end: the release's part of it; absent: no run
--        fence: of the grant; the server may have lost it, or know another one (in a quorum)
--        of a slot, see after_run(): slot_end   retries   attempt   failures
-- result  1 released (or withdrawn)   0 the lock was free   -1 another token has it
-- A withdrawn id may have a grant whose answer was lost: then that is released.
local arg = named_arguments()
local id, confirm_within, how = arg.id, tonumber(arg.confirm_within), arg.how
local min_hold = tonumber(arg.min_hold or 0)
local token = token_of(id)
purge()
redis.call('DEL', mailbox .. token)
local rank = redis.call('ZRANK', queue, id)
-- A release names the token alone. The holder of most servers of a quorum may still wait here, and as a reader.
if how == 'release' and not rank then
  rank = redis.call('ZRANK', queue, 'shared ' .. token)
  if rank then id = 'shared ' .. token end
end
if rank then drop(id) end
local number = mode and redis.call('ZSCORE', grants, token)
local holds = owner == id or number

-- The lease may have expired on the way; still, the run has ended, or never was one.
local function remember()
  local state, _, _, whose = slot_state()
  -- Independent of the lock: a server of a quorum may already know the end of a later run.
  local slot_is_ours = state == 'running' and whose == token
  if not (how == 'release' or holds or slot_is_ours or last_token == token) then return end
  local history = tonumber(arg.history or 0)
  local stays_for = history + min_hold
  local numbered = end_run(token, arg.run_end, {history = stays_for, granted = history > 0 and tonumber(number),
    fence = arg.fence, attempt = arg.attempt})
  -- Also tell a server that lost its data, or one of a quorum that missed our grant: it may count later.
  if slot and arg.slot_end then
    after_run(token, arg, stays_for, numbered)
  elseif slot_is_ours then
    without_run(token, stays_for)
  end
end

local function give_back()
  -- A grant in the future (the clock was set back) must not lengthen --min-hold.
  local granted = tonumber(number or owner == last_token and last_fence or now_us)
  local sooner = false
  local stays = rank and 0 or math.ceil(min_hold - math.max(0, now_us - granted) / 1000)  -- rank: only
                                                                                          -- reserved
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
    roll_call(confirm_within, id)  -- others were here first: see enter
  elseif rank then
    if rank < 2 then tell_first(confirm_within) end
    replace_witness(rank, confirm_within)
  end
end

remember()
if holds then
  give_back()
elseif how == 'release' then
  local found = owner and -1 or 0
  if rank then leave_queue() end
  return found
else
  leave_queue()
end
return 1
