// The times and numbers of a queue, the same on every server. The Lua scripts for Redis use the
// same names for those that are not passed to them.
#pragma once

#include <cstddef>

#include "base/duration.hpp"

namespace store::rules {

/// A waiter's signs of life.
struct Pace {
  base::Millis heartbeat;  // the longest interval between two
  base::Millis patience;   // how long one lasts: two and a half heartbeats, so one may be lost
};
inline constexpr base::Millis heartbeat{12'000};
inline constexpr base::Millis patience{30'000};
inline constexpr base::Millis confirm_within{2'000};  // a reservation: many round trips, yet short
inline constexpr base::Millis second_look{100};  // after `next`: by then the first waiter has come
/// The first waiter comes at the end of a lease, each of the next this much later.
inline constexpr base::Millis stagger{100};
/// How many of the next waiters also look at that end: all waiters of one host die together.
inline constexpr std::size_t looking_behind = 9;
/// How many waiters are told when a slot is done.
inline constexpr std::size_t told_at_once = 1000;
/// How many of the next waiters must show that they live if the first does not come.
inline constexpr std::size_t called_at_once = 63;
/// How long a letter waits for its reader.
inline constexpr base::Millis letter_life{60'000};

}  // namespace store::rules
