-- parts: keys mail holders
-- ASK TO STOP: a message to holders and waiters; changes nothing else.
-- ARGV  2 id of the mailbox for the answer   3 the message   4... the tokens to ask
-- result  how many of them hold the lock, have it reserved, or wait
local reply, text = ARGV[2], ARGV[3]
local asked = 0
-- The first write of a script may need no memory if the server has none left (see renew).
redis.call('PEXPIRE', mailbox .. reply, MAIL_LIFE_MS)
local function waits(token)
  for _, id in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
    if token_of(id) == token then return true end
  end
  return false
end
for i = 4, #ARGV do
  local token = ARGV[i]
  local holds = mode and tonumber(redis.call('ZSCORE', held, token) or 0) > now or owner and token_of(owner) == token
  if (holds or waits(token)) and post(token, 'stop ' .. reply .. ' ' .. text) then asked = asked + 1 end
end
return asked
