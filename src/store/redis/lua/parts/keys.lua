-- KEYS: the names of the keys, and the server's clock.
-- KEYS  1 the lock   2 queue: id -> ticket (µs)   3 alive: id -> deadline (ms)   4 fence
--       5 held: token -> lease end (ms)   6 grants: token -> fence, and with permits
--         'permit TOKEN' -> its number; both only while several hold
--       7 runs: their records, newest first   8 the slot of this run, if it has one
-- ARGV  1 the prefix of a mailbox's name, before its owner's token
local lock, queue, alive, fence, held, grants = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local runs, slot = KEYS[7], KEYS[8]
local mailbox = ARGV[1]
local DAY_MS = 86400000

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)

-- µs since 1970 need 51 bits: exact in a double, but not with tostring()
local function digits(number) return string.format('%.0f', number) end
