-- parts: keys mail holders queue runs wire
-- INSPECT: everything known about one lock at one instant; writes nothing.
-- ARGV  2 how many of its last runs, 1 or more
-- result  {'lock', holder: see occupant(); fence: the last one; mode: of the holders
--          holders: if several hold, for each {token, left: ms; held: ms; fence; kept: 1; permit}
--          waiters: {id, ms that it has waited or -1: unknown, ...}
--          now: ms; runs: {line, 1 if its token has the lock, ...}}
local holder, _, kind = occupant(true)  -- so that force-release finds what was shown
-- Thousands may wait, or may have waited until their host died: one call for all that live, not one for each.
local lives = {}
if first_waiter() then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', alive, '(' .. digits(now), '+inf')) do lives[id] = true end
end
local waiters = {}
local entries = next(lives) and redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES') or {}
for i = 1, #entries, 2 do
  local reserved = kind == 'reserved' and entries[i] == owner
  if not reserved and lives[entries[i]] then
    waiters[#waiters + 1] = entries[i]
    waiters[#waiters + 1] = age_ms(entries[i + 1]) or -1
  end
end
local several = {}
local granted = mode and redis.call('ZRANGE', grants, 0, -1, 'WITHSCORES') or {}
for i = 1, #granted, 2 do
  local token, number = granted[i], granted[i + 1]
  local ends = tonumber(redis.call('ZSCORE', held, token) or 0)
  if ends > now then
    several[#several + 1] = answer({}, 'token', token, 'left', ends - now, 'held', age_ms(number), 'fence', number,
      'kept', is_kept(token) and 1, 'permit', permit_of(token))
  end
end
local how = mode or kind == 'reserved' and mode_of(owner) or (kind == 'holder' or kind == 'kept') and 'exclusive'
local last = {}
for _, line in ipairs(redis.pcall('LRANGE', runs, 0, tonumber(ARGV[2]) - 1)) do
  local token = line:match('^%d+\t([^\t]*)\t')
  local holds = token and has_it_alone(token) or mode and tonumber(redis.call('ZSCORE', held, token or '') or 0) > now
  last[#last + 1] = line
  last[#last + 1] = holds and 1 or 0
end
return answer({'lock'}, 'holder', holder, 'fence', last_token and digits(last_fence), 'mode', how,
  'holders', mode and several, 'waiters', waiters, 'now', digits(now), 'runs', last)
