// When to refresh a lease, and how long to wait for the answer. Pure.
#pragma once

#include <algorithm>

#include "store/lease.hpp"

namespace hold {

using base::Deadline;
using base::Millis;
using base::Moment;

/// Every third of the TTL, reckoned from the last success so that the rhythm does not drift; after
/// a fault again after 50 ms, doubling, at most a tenth of the TTL.
class Pace {
 public:
  Pace(store::Ttl ttl, Moment granted_at) : ttl_{ttl.length()} { succeeded(granted_at); }

  [[nodiscard]] Deadline next() const { return next_; }

  void succeeded(Moment asked_at) {
    next_ = Deadline::after(asked_at, ttl_ / 3);
    retry_ = first_retry;
  }
  void failed(Moment now) {
    next_ = Deadline::after(now, std::min(retry_, longest_retry()));
    retry_ *= 2;
  }

  /// How long one refresh may take before it is tried again on a fresh connection: short enough for
  /// several tries within what is left of a lease, long enough for a slow network.
  [[nodiscard]] Millis answer_time() const {
    return std::clamp(ttl_ / 6, Millis{25}, Millis{5'000});
  }

 private:
  static constexpr Millis first_retry{50};
  [[nodiscard]] Millis longest_retry() const { return ttl_ / 10; }

  Millis ttl_;
  Millis retry_{first_retry};
  Deadline next_ = Deadline::never();
};

}  // namespace hold
