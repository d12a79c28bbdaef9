-- RUNS: the record of runs, a line each, with tabs between its fields. A grant begins a line, with the
-- holder, the time and perhaps the reason; the release ends it. A run without an end whose token no longer
-- has the lock was lost.
local REMEMBERED_RUNS = 50

-- No room for a line is no reason to refuse a lock.
local function add_run(line)
  local length = redis.pcall('LPUSH', runs, line)
  if type(length) == 'table' then return false end
  if length > REMEMBERED_RUNS then redis.pcall('LTRIM', runs, 0, REMEMBERED_RUNS - 1) end
  return true
end

-- The line of the token's run, and how many are newer.
local function line_of(token)
  for rank = 0, REMEMBERED_RUNS - 1 do
    local line = redis.pcall('LINDEX', runs, rank)
    if type(line) ~= 'string' then return end
    if line:match('^%d+\t([^\t]*)\t') == token then return line, rank end
  end
end

-- The number of the token's run for its slot, or nil.
local function run_number(token)
  local line = line_of(token)
  return line and tonumber(line:match('^%d+\t[^\t]*\t%d+\t[^\t]*\t[^\t]*\t(%d+)'))
end

-- `claim`: the claim's part of the line (see enter).
local function begin_run(token, number, claim, history, ttl, attempt)
  if history == 0 then return end
  local line = table.concat({digits(number), token, digits(now), claim.run_begin or '', attempt}, '\t')
  if claim.reason then line = line .. '\t' .. claim.reason end
  if add_run(line) then redis.call('PEXPIRE', runs, history + ttl) end
end

-- `told` is the outcome of the run, nil if there was no run. `known`, all of it optional: `history`, ms to
-- keep the record; `granted`, the fence of one of several that still has the lock (its line may be gone
-- because more runs have begun than are recorded, and a long run must not be forgotten); `fence` and
-- `attempt` as the holder knows them, which a server of a quorum that missed a run has counted too low.
-- Returns the fence of the run, if known.
local function end_run(token, told, known)
  local number = known.fence or token == last_token and digits(last_fence)  -- a quorum may have raised it
                                                                            -- since
  local history = known.history or 0
  local line, rank = line_of(token)
  if line then
    local remembered_as = line:match('^%d+')
    local begun, its, reason = line:match('^%d+\t[^\t]*(\t%d+\t[^\t]*\t[^\t]*\t)([^\t]*)(\t?[^\t]*)$')
    if begun and not told then
      redis.pcall('LREM', runs, 1, line)
    elseif begun then
      redis.pcall('LSET', runs, rank,
        table.concat({number or remembered_as, '\t', token, begun, its ~= '' and known.attempt or its, '\t',
          digits(now), '\t', told, reason}))
    end
    if begun and history > 0 then redis.call('PEXPIRE', runs, history) end
    return number or remembered_as
  end
  if known.granted and told and history > 0 then
    local began = digits(math.floor(known.granted / 1000))
    local line = table.concat({digits(known.granted), token, began, '0', '', '', digits(now), told}, '\t')
    if add_run(line) and redis.call('PTTL', runs) < history then redis.call('PEXPIRE', runs, history) end
  end
  return number
end

-- The holder's reason for wanting the lock, if the last grant was its; or nil.
local function reason_of(holder)
  local line = redis.pcall('LINDEX', runs, 0)
  if type(line) ~= 'string' then return end
  local token, reason = line:match('^%d+\t([^\t]*)\t%d+\t[^\t]*\t[^\t]*\t[^\t]*\t([^\t]*)$')
  if token == holder and reason ~= '' then return reason end
end

-- For waiters: the median length of the last runs that ended by themselves (as typical_length() of
-- store/rules/runs); nil if none is recorded.
local function typical_run()
  local lengths = {}
  for _, line in ipairs(redis.pcall('LRANGE', runs, 0, 19)) do
    local begun, ended, how = line:match('^%d+\t[^\t]*\t(%d+)\t[^\t]*\t[^\t]*\t[^\t]*\t(%d+)\t(%a+)')
    if how == 'exited' or how == 'released' then lengths[#lengths + 1] = math.max(0, ended - begun) end
  end
  table.sort(lengths)
  return lengths[math.ceil(#lengths / 2)]
end
