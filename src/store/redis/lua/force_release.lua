-- parts: keys mail holders queue runs wire
-- FORCE-RELEASE: take the lock from the holders that were shown, and from no other.
-- ARGV  2 ms for a woken waiter to confirm   3 id of the mailbox for a last word, '' none
--       4 by whom   5... the tokens shown
-- result  {'removed'} | {'changed', holder: see occupant()}
local confirm_within, reply, by = tonumber(ARGV[2]), ARGV[3], ARGV[4]
purge()
local removed = {}
local told = 'lost 0\t' .. 'force-released by ' .. by
for i = 5, #ARGV do
  local shown = ARGV[i]
  if mode then
    if redis.call('ZSCORE', held, shown) then
      drop_holder(shown)
      end_run(shown, told, {})
      removed[#removed + 1] = shown
    end
  elseif owner and token_of(owner) == shown then
    drop(owner)
    end_run(shown, told, {})
    removed[#removed + 1] = shown
  end
end
if #removed == 0 then
  return answer({'changed'}, 'holder', (occupant()))
end
local sooner = mode and settle()
if mode then tell_first(confirm_within) else handoff(confirm_within) end
if sooner then tell_lookers(1) end
if reply ~= '' then
  for _, token in ipairs(removed) do post(token, 'lost ' .. reply .. ' ' .. by) end
end
return {'removed'}
