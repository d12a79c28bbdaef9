-- FORCE-RELEASE: take the lock from the holder that was shown, and from no other.
-- ARGV  2 the token that was shown   3 claim ms   4 id of the mailbox for its last word, '' none   5 by whom
-- result  {'removed'} | {'changed', owner, PTTL, held ms, kind}
local shown, claim, reply, by = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
purge()
if not owner or owner ~= shown then
  local who, left, held, kind = occupant()
  return {'changed', string.sub(who, 1, 400), left, held, kind}
end
drop(shown)
handoff(claim)
if reply ~= '' then post(shown, 'lost ' .. reply .. ' ' .. by) end
return {'removed'}
