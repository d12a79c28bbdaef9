-- INSPECT: everything known about one lock at one instant; writes nothing.
-- ARGV  2 how many of its last runs, 1 or more
-- result  {token, PTTL, held ms, kind, more holders, last fence or '', mode or '',
--          {id, waiting ms, id, waiting ms, ...},
--          {token, ms left, held ms, fence, 1 if its job has ended, permit or 0, ...} if several hold,
--          {now ms, line, 1 if its token has the lock, ...} of its runs}
local who, left, since, kind, more = occupant()
local waiters = {}
local entries = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')
for i = 1, #entries, 2 do
  local deadline = redis.call('ZSCORE', alive, entries[i])
  local reserved = kind == 'reserved' and entries[i] == owner
  if not reserved and deadline and tonumber(deadline) > now then
    waiters[#waiters + 1] = entries[i]
    waiters[#waiters + 1] = age_ms(entries[i + 1])
  end
end
local several = {}
if mode then
  local granted = redis.call('ZRANGE', grants, 0, -1, 'WITHSCORES')
  for i = 1, #granted, 2 do
    local ends = tonumber(redis.call('ZSCORE', held, granted[i]) or 0)
    if ends > now then
      several[#several + 1] = granted[i]
      several[#several + 1] = ends - now
      several[#several + 1] = age_ms(granted[i + 1])
      several[#several + 1] = granted[i + 1]
      several[#several + 1] = is_kept(granted[i]) and 1 or 0
      several[#several + 1] = permit_of(granted[i])
    end
  end
end
local how = mode or kind == 'reserved' and mode_of(owner) or (kind == 'holder' or kind == 'kept') and 'exclusive' or ''
local last = {digits(now)}
for _, line in ipairs(redis.pcall('LRANGE', runs, 0, tonumber(ARGV[2]) - 1)) do
  local token = line:match('^%d+\t([^\t]*)\t')
  local holds = owner == token or mode and tonumber(redis.call('ZSCORE', held, token or '') or 0) > now
  last[#last + 1] = line
  last[#last + 1] = holds and 1 or 0
end
return {who, left, since, kind, more, last_token and digits(last_fence) or '', how, waiters, several, last}
