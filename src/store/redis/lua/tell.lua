-- parts: keys mail
-- TELL: a message to a listener, which vanishes with its mailbox if it is not read.
-- ARGV  2 id of the mailbox   3 the message
-- result  1, or 0 if the server has no room for it
-- The first write of a script may need no memory if the server has none left (see renew).
redis.call('PEXPIRE', mailbox .. ARGV[2], MAIL_LIFE_MS)
return post(ARGV[2], ARGV[3]) and 1 or 0
