-- INSPECT: everything known about one lock at one instant; writes nothing.
-- result  {owner, PTTL, held ms, kind, last fence or '', {id, waiting ms, id, waiting ms, ...}}
local who, left, held, kind = occupant()
local waiters = {}
local entries = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')
for i = 1, #entries, 2 do
  local deadline = redis.call('ZSCORE', alive, entries[i])
  local reserved = kind == 'reserved' and entries[i] == who
  if not reserved and deadline and tonumber(deadline) > now then
    waiters[#waiters + 1] = entries[i]
    waiters[#waiters + 1] = math.max(0, math.floor((now_us - entries[i + 1]) / 1000))
  end
end
return {who, left, held, kind, last_token and digits(last_fence) or '', waiters}
