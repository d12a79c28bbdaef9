// How long things may take that are promised.
#pragma once

#include "fibers.hpp"

namespace sim {

// A few ways there and back.
inline constexpr Nanos at_once = 10 * ms;
// A waiter for an event without a message waits in BLPOP, which ends 100 ms late.
inline constexpr Nanos by_itself = 250 * ms;
// That a slot is done, all who wait for it hear at once, however many of the others are dead.
inline constexpr Nanos told_of_done = 50 * ms;
// However many died at the head of the queue, while one of those who look after the lock lives: a
// reservation, a roll call, and their messages.
inline constexpr Nanos behind_the_dead = 3 * s + at_once;
// Where none of them does: the next sign of life of a living waiter, and reservations that nobody
// takes.
inline constexpr Nanos until_a_heartbeat = 15 * s;
inline constexpr Nanos until_a_heartbeat_on_records = 31 * s;
// A holder that runs for a second begins to listen then.
inline constexpr Nanos listens_after = 1'300 * ms;
// The lock of a client that is no rlock is asked for as often at least.
inline constexpr Nanos polls_foreign = 600 * ms;
// The claims of one waiter whose waits are all cut: after 50 ms, doubling; and a few of a lost
// answer.
inline constexpr int most_in_a_second = 12;
// On a quorum: who comes so soon after another one may be heard before it.
inline constexpr Nanos arrive_together = 50 * ms;
// The longest time in which nobody had most of the servers although a client wanted them: a few
// rounds of those who have some of them each, or a reservation that nobody took.
inline constexpr Nanos between_bids = 2 * s;

}  // namespace sim
