-- MAIL: a word to one process, in a list named after its token.
local MAIL_LIFE_MS = 60000  -- a mailbox nobody reads vanishes by itself

-- False if the message could not be put there.
local function post(token, message)
  local done = redis.pcall('RPUSH', mailbox .. token, message)
  if type(done) == 'table' then return false end
  redis.pcall('PEXPIRE', mailbox .. token, MAIL_LIFE_MS)
  return true
end

-- The job of this holder has ended, and --min-hold keeps its lock: what leave wrote in place of its
-- mailbox, where no word arrives any more.
local function is_kept(token) return redis.pcall('GET', mailbox .. token) == 'kept' end
