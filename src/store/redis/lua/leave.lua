-- LEAVE: give the lock back, or stop wanting it.
-- ARGV  2 id   3 claim ms   4 'release' or 'cancel'
-- result  1 given back (or no longer wanted)   0 nobody had it any more   -1 somebody else has it
-- A cancelled id may have been granted the lock without hearing of it: then that is given back.
local id, claim, how = ARGV[2], tonumber(ARGV[3]), ARGV[4]
purge()
redis.call('DEL', mailbox .. id)
local rank = redis.call('ZRANK', queue, id)
if rank then drop(id) end

if owner == id then
  handoff(claim)
  return 1
end
if how == 'release' then
  return owner and -1 or 0
end
if not owner then
  handoff(claim)
elseif rank and rank < 2 then
  tell_first()
end
return 1
