-- LEAVE: give the lock back, or stop wanting it.
-- ARGV  2 id (to give back, a token is enough)   3 claim ms   4 'release' or 'cancel'
--       5 ms after the grant for which the lock stays taken although it is given back
--       6 ms to remember the run for   7 what the release says of it, '': it never was
--       of a slot: 8 'done', 'failed', 'open' or ''   9 how many may fail   10 the number of this run
--       11 how many failed before it
--       12 the fence of the grant: the server may have lost it, or know another one (a quorum's); or ''
-- result  1 given back (or no longer wanted)   0 nobody had it any more   -1 somebody else has it
-- A cancelled id may have been granted the lock without hearing of it: then that is given back.
local id, claim, how, min_hold = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local token = token_of(id)
purge()
redis.call('DEL', mailbox .. token)
local rank = redis.call('ZRANK', queue, id)
if rank then drop(id) end

local number = mode and redis.call('ZSCORE', grants, token)
local holds = owner == id or number
-- The lease may have ended on the way here; the run has ended all the same, or never was.
local state, runs_begun, _, whose = slot_state()
-- Not because the lock is: a server of a quorum may have heard the end of a later run meanwhile.
local slot_is_ours = state == 'running' and whose == token
-- A server that lost its data hears what the run came to, and so does one of a quorum that missed our
-- grant: later it may be one of a majority.
local attempt = tonumber(ARGV[10]) or 0
local missed = slot and (ARGV[8] or '') ~= '' and state ~= 'done' and runs_begun <= attempt
if how == 'release' or holds or slot_is_ours or last_token == token then
  local asked = tonumber(ARGV[6] or 0)
  local history = asked + min_hold
  local known = ARGV[12] ~= '' and ARGV[12]
  local remembers = asked > 0 and number and tonumber(number)
  local numbered = end_run(token, ARGV[7] or '', history, remembers, known, attempt > 0 and digits(attempt))
  if slot_is_ours and ARGV[8] == '' then
    without_run(token, history)
  elseif slot_is_ours or missed then
    local failed, retries = tonumber(ARGV[11]), tonumber(ARGV[9])
    after_run(token, attempt, failed, ARGV[8], retries, ARGV[7], history, numbered)
  end
end
if holds then
  -- A grant in the future (the clock was set back) must not make it longer than it was meant.
  local granted = tonumber(number or owner == last_token and last_fence or now_us)
  local sooner = false
  local stays = math.ceil(min_hold - math.max(0, now_us - granted) / 1000)
  if number then
    if stays > 0 then redis.call('ZADD', held, now + stays, token) else drop_holder(token) end
    sooner = settle()
  elseif stays > 0 then
    redis.call('PEXPIRE', lock, stays)
  end
  if stays > 0 then
    redis.call('PEXPIRE', fence, DAY + stays)
    redis.pcall('SET', mailbox .. token, 'kept', 'PX', stays)  -- for people: see is_kept
  end
  if not mode and stays <= 0 then handoff(claim) else tell_first(claim) end
  if stays > 0 or sooner then tell_lookers(1) end  -- it ends sooner than they were told
  return 1
end
if how == 'release' then
  return owner and -1 or 0
end
if not owner then
  roll_call(math.floor(claim / 4), id)  -- others were here before: see enter
elseif rank then
  if rank < 2 then tell_first(claim) end
  -- One of the witnesses goes (see tell_witnesses), and the first one has not come yet.
  local heads = redis.call('ZRANGE', queue, 0, 1)
  local was_witness = rank == 1 or rank == redis.call('ZCARD', queue)
  if heads[2] and was_witness and
     tonumber(redis.call('ZSCORE', alive, heads[1]) or 0) <= now + claim + 1 then
    tell_witnesses(heads[2])
  end
end
return 1
