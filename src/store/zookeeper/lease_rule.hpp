// How long a lease is within a session.
#pragma once

#include <algorithm>

#include "store/lease.hpp"

namespace store::zookeeper {

// Servers tell their leader of a session's signs of life once a tick, 2 s usually; until then it
// would end it by what it knew before. So a session lasts longer than its lease, by half as long
// again and at least that.
inline constexpr Millis usual_tick{2'000};

inline Millis session_for(Ttl ttl) {
  return ttl.length() + std::max(ttl.length() / 2, usual_tick);
}

/// The lease within a session of that length.
inline Ttl lease_within(Millis session, Ttl wanted) {
  const Millis margin = std::max(session / 3, std::min(session / 2, usual_tick));
  const auto longest = Ttl::from(session - margin);
  if (!longest) return *Ttl::from(Ttl::shortest);
  return longest->length() < wanted.length() ? *longest : wanted;
}

}  // namespace store::zookeeper
