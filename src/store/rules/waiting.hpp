// The times and numbers of a queue, which are the same on every server. The scripts of Redis have
// those that are no argument of theirs under the same names.
#pragma once

#include <cstddef>

#include "base/duration.hpp"

namespace store::rules {

inline constexpr base::Millis heartbeat{12'000};      // a waiter's sign of life
inline constexpr base::Millis patience{30'000};       // two and a half heartbeats: one may be lost
inline constexpr base::Millis confirm_within{2'000};  // a reservation: many round trips, yet short
inline constexpr base::Millis second_look{100};  // after `next`: by then the first one has come
/// The first waiter comes at the end of a lease, each of the next so much later.
inline constexpr base::Millis stagger{100};
/// So many of the next ones look at that end, too: what stands on one host dies together.
inline constexpr std::size_t looking_behind = 9;
/// So many waiters are told when a slot is done.
inline constexpr std::size_t told_at_once = 1000;
/// So many of the next ones show that they live when the first one does not come.
inline constexpr std::size_t called_at_once = 63;
/// For so long a word waits for whom it is for.
inline constexpr base::Millis letter_life{60'000};

}  // namespace store::rules
