// How long a waiter may sleep before it has to look at the lock again.
#pragma once

#include "store/lock_store.hpp"

namespace store::redis {

/// The times of a waiter's life. They are arguments of the scripts, so clients with different ones
/// get along.
inline constexpr Millis heartbeat{12'000};  // a waiter's sign of life: two commands, 0.17 a second
inline constexpr Millis grace{30'000};      // two and a half heartbeats: one may be lost
inline constexpr Millis claim{2'000};       // to confirm a reservation: many round trips, yet short
inline constexpr Millis second_look{100};   // after `next`: by then the first one has confirmed

/// Sleeping in BLPOP: the server ends it after `server_timeout`, or we do after `cut`, by throwing
/// the connection away, when the server's clock is too coarse.
struct Nap {
  Millis server_timeout;
  std::optional<Millis> cut;
};

/// Pure but for the jitter of polling a foreign holder. What the first waiter waits for is a wake,
/// or the end of the holder's lease, should the holder have died.
Nap nap_for(const Queued& place);

}  // namespace store::redis
