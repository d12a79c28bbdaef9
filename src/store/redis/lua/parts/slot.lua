-- SLOT: work to be done once, by one run after another.
-- The value is 'running', 'open' or 'done', how many runs it has had, how many of these failed, and
--   if done: OUTCOME, ENDED, FENCE and TOKEN
--   if open: the token of the last run, or '' if unknown
--   if running: its token, and the token of the run before it, if that one's end arrived here
local TOLD_AT_ONCE = 1000  -- waiters, when a slot is done

-- Returns these fields. The last one is '' unless the slot is running.
local function slot_state()
  local text = slot and redis.pcall('GET', slot)
  if type(text) ~= 'string' then return nil, 0, 0, '', '' end
  local state, attempt, failures, rest = text:match('^(%a+)\t(%d+)\t(%d+)\t?(.*)$')
  local before = ''
  if state == 'running' then rest, before = rest:match('^([^\t]*)\t?(.*)$') end
  return state, tonumber(attempt or 0), tonumber(failures or 0), rest, before
end

-- A running slot is kept for at least a day: a run may take longer than its --history.
local function set_slot(state, attempt, failures, rest, history)
  if state == 'running' then history = math.max(history, DAY_MS) end
  local text = table.concat({state, digits(attempt), digits(failures), rest}, '\t')
  return redis.call('SET', slot, text, 'PX', history)
end

-- The acts of store/rules/slot, which has them in C++ for other stores: with_run, without_run, after_run.
-- A run for the slot begins. The run before it may report its end again, even after this one was withdrawn:
-- so
-- its token stays.
local function with_run(token, attempt, failures, history)
  local state, _, _, rest, before = slot_state()
  if state == 'open' then before = rest elseif rest ~= token then before = '' end
  set_slot('running', attempt, failures, before == '' and token or token .. '\t' .. before, history)
end

-- Removes that token's run for the slot: there was no run.
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

-- The run of a holder has ended. `run` is from its release: `slot_end` is 'done', 'failed' or 'open';
-- `attempt` its number, and `failures` how many failed before it, as the holder knows them, because a server
-- of a quorum may have missed some; `retries` how many may fail; `run_end` the outcome. `numbered`: the fence
-- of the run, if known. An end that leaves the slot open changes nothing if a later run is known, and does
-- not end a running one; an end that finishes the slot always counts. Waiters are told that the slot is done;
-- those behind the first thousand by waiters that leave (see enter).
local function after_run(token, run, history, numbered)
  local state, number, failures, rest, before = slot_state()
  local ours = state == 'running' and rest == token
  -- A repeated release ends no second run: neither if the slot is as the first one left it, nor if a claim of
  -- the same run arrived in between.
  if before == token then
    if ours then set_slot('open', number, failures, token, history) end
    return
  end
  if state == 'done' or state == 'open' and rest == token then return end
  local failed = run.slot_end == 'failed'
  local attempt, failed_before = tonumber(run.attempt or 0), tonumber(run.failures or 0)
  local retries = tonumber(run.retries or 0)
  local ends_slot = run.slot_end == 'done' or failed and failed_before >= retries
  if not ours and not ends_slot then
    if number > attempt then return end
    -- Numbers restart if a server loses its data, fences do not. So the other run is later and still runs,
    -- and this is the run before it.
    if state == 'running' and rest == last_token and last_fence > tonumber(numbered or 0) then
      failures = math.max(failures, failed_before + (failed and 1 or 0))
      set_slot('running', attempt + 1, failures, rest .. '\t' .. token, history)
      return
    end
  end
  -- The end of a run with a higher number arrived first. That run knew of this one, so its counts stay.
  if ours and not ends_slot and before ~= '' and number > attempt + 1 then
    set_slot('open', number - 1, failures, token, history)
    return
  end
  -- All that is known of it came with a later claim that was withdrawn: its failure may be counted.
  if state == 'open' and rest == '' and number == attempt and failures > 0 then failures = failures - 1 end
  failures = math.max(failures, failed_before)
  if run.slot_end == 'open' or failed and failures < retries then
    set_slot('open', attempt, failures + (failed and 1 or 0), token, history)
  else
    local outcome = (run.run_end or ''):match('^[^\t]*')
    set_slot('done', attempt, failures, table.concat({outcome, digits(now), numbered or '0', token}, '\t'), history)
    for _, id in ipairs(redis.call('ZRANGE', queue, 0, TOLD_AT_ONCE - 1)) do post(token_of(id), 'done') end
  end
end
