// A lease: its length, the end of its certain validity, and the fence of its grant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/duration.hpp"
#include "store/names.hpp"

namespace store {

using base::Deadline;
using base::Millis;
using base::Moment;

/// Increases with every grant of a key. On Redis it is the server's time of the grant in µs, unless
/// that would break the order.
using Fence = std::uint64_t;

/// How long a server keeps the lock without a refresh; at least 100 ms.
class Ttl {
 public:
  static constexpr Millis shortest{100};
  /// A year: beyond it, a crashed holder's lock is as good as never freed.
  static constexpr Millis longest{Millis{1000} * 60 * 60 * 24 * 365};

  static std::optional<Ttl> from(Millis length) {
    if (length < shortest || length > longest) return std::nullopt;
    return Ttl{length};
  }

  [[nodiscard]] Millis length() const { return length_; }
  [[nodiscard]] Millis drift() const { return drift_over(length_); }
  /// The greatest difference between our clock and the server's after that time: 1 % of rate (a
  /// quartz is off by 0.01 %) and 2 ms for the server's granularity, as in Redlock.
  static Millis drift_over(Millis length) { return length / 100 + Millis{2}; }

 private:
  explicit Ttl(Millis length) : length_{length} {}
  Millis length_;
};

/// The end of the certain validity of a lease granted or refreshed by a command: counted from the
/// moment *before* the command was sent, because the server cannot have started its clock earlier.
/// There is no parameter for "now" on purpose.
inline Deadline validity(Moment asked_at, Ttl ttl) {
  return Deadline::after(asked_at, ttl.length() - ttl.drift());
}
/// The same for a server that reports how much of a lease is `left`.
inline Deadline validity(Moment asked_at, Millis left) {
  return Deadline::after(asked_at, left - Ttl::drift_over(left));
}

struct Lease {
  LockName name;
  Token token;
  Ttl ttl;
  Deadline valid_until;
  Fence fence;
  Moment asked_at;         // of the grant or the last refresh, from which the next is counted
  unsigned attempt = 0;    // the number of the run for its slot, from 1; 0: no slot
  unsigned failures = 0;   // how many runs for the slot failed before
  unsigned permit = 0;     // its number, from 1; 0: no permits
  std::string resource{};  // the permit's name; empty: it has none
};

}  // namespace store
