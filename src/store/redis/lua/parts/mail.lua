-- MAIL: messages to one process, in a list named after its token.
local MAIL_LIFE_MS = 60000  -- an unread mailbox expires

-- False if the message could not be added.
local function post(token, message)
  local done = redis.pcall('RPUSH', mailbox .. token, message)
  if type(done) == 'table' then return false end
  redis.pcall('PEXPIRE', mailbox .. token, MAIL_LIFE_MS)
  return true
end

-- Whether this holder's job has ended and --min-hold keeps its lock: leave then wrote this in place of the
-- mailbox, which no longer receives messages.
local function is_kept(token) return redis.pcall('GET', mailbox .. token) == 'kept' end
