-- WIRE: names and values, in both directions. Unset ones are omitted.

-- The arguments in ARGV after the mailbox. One without a value is ignored.
local function named_arguments()
  local named = {}
  for i = 2, #ARGV - 1, 2 do named[ARGV[i]] = ARGV[i + 1] end
  return named
end

-- answer({'busy'}, 'waiting', 3, 'reason', nil) is {'busy', 'waiting', 3}.
local function answer(reply, ...)
  local last = #reply
  for i = 1, select('#', ...), 2 do
    local name, value = select(i, ...)
    if value then
      reply[last + 1], reply[last + 2] = name, value
      last = last + 2
    end
  end
  return reply
end

-- nil: unknown, the clock was set back. (The servers of a quorum, which adopt the highest number, may differ
-- a little.)
local function age_ms(number)
  local age = math.floor((now_us - number) / 1000)
  return age >= -1000 and math.max(0, age) or nil
end

-- The holder of the lock, for an answer's `holder`, followed by its `left` and `kind`; nothing if it is free.
--   kind: holder, kept, reserved or foreign
--   token: of the holder, the first of several; of a foreign value, the first 400 bytes, or all if `whole`
--   left: ms, nil if it has no end   held: ms since its grant   more: how many others also hold it
--   reason: why, if it gave one
local function occupant(whole)
  if not owner then return end
  local token, number, kind, more = owner, nil, 'foreign', 0
  if mode then
    -- A read-only script has purged nothing: some may be over.
    local rank, oldest = 0, nil
    repeat
      oldest = redis.call('ZRANGE', grants, rank, rank, 'WITHSCORES')
      rank = rank + 1
    until not oldest[1] or tonumber(redis.call('ZSCORE', held, oldest[1]) or 0) > now
    token, number, kind = oldest[1] or '', oldest[2], 'holder'
    more = redis.call('ZCARD', held) - #redis.call('ZRANGEBYSCORE', held, '-inf', now) - 1
  elseif owner ~= '' and redis.call('ZSCORE', queue, owner) then
    token, kind = token_of(owner), 'reserved'
  elseif owner ~= '' and owner == last_token then
    number, kind = last_fence, 'holder'
  end
  if kind == 'holder' and is_kept(token) then kind = 'kept' end
  local left = redis.call('PTTL', lock)
  if left < 0 then left = nil end
  local holder = answer({}, 'kind', kind, 'token', string.sub(token, 1, whole and -1 or 400), 'left', left,
    'held', number and age_ms(number), 'more', more > 0 and more, 'reason', kind ~= 'reserved' and reason_of(token))
  return holder, left, kind
end
