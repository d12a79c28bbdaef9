// The arithmetic of an etcd lease: its length in whole seconds, from when it counts, and when it is
// to be renewed. No socket, no clock: time is passed in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "store/etcd/backoff.hpp"
#include "store/lease.hpp"

namespace store::etcd {

/// The seconds to ask for, so that the lease has at least that length. The cluster may grant more.
inline std::int64_t seconds_for(Millis length) {
  return ceil<std::chrono::seconds>(length).count();
}

/// The length of a lease that a server tells; nothing unless it is positive. At most a year, so
/// that no sum overflows.
inline std::optional<Millis> length_of(std::int64_t seconds) {
  if (seconds <= 0) return std::nullopt;
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(Ttl::longest);
  return Millis{std::chrono::seconds{std::min<std::int64_t>(seconds, most.count())}};
}

/// The lease that can be promised within one of that length.
inline Ttl lease_within(Millis length, Ttl wanted) {
  const auto longest = Ttl::from(length);
  if (!longest) return *Ttl::from(Ttl::shortest);
  return longest->length() < wanted.length() ? *longest : wanted;
}

/// A lease between its renewals. Only a grant and a keep-alive renew it: a transaction proves that
/// it lives, and not how long it will.
class LeaseTime {
 public:
  // Three tries fit into a lease.
  static constexpr Millis::rep renewals_in_a_lease = 3;
  static constexpr Millis longest_pause{500};

  /// The server has confirmed a grant or a renewal that was sent then. It cannot have started its
  /// clock earlier.
  void renewed(Moment sent_at, Millis length) {
    // Answers may be read late: a renewal that was sent earlier proves less.
    if (counts_from_ && *counts_from_ >= sent_at) return;
    counts_from_ = sent_at;
    length_ = length;
    pauses_.reset();
    retry_at_.reset();
  }
  /// A renewal failed: the next waits a little, longer each time.
  void failed(Moment now) { retry_at_ = Deadline::after(now, pauses_.next()); }

  /// Whether it was ever granted.
  [[nodiscard]] bool is_granted() const { return counts_from_.has_value(); }
  [[nodiscard]] Millis length() const { return length_; }
  /// The moment from which the lease lasts for its length at least; `otherwise` without a grant.
  [[nodiscard]] Moment counts_from(Moment otherwise) const {
    return counts_from_.value_or(otherwise);
  }
  /// When a client that waits or holds renews it; never without a grant.
  [[nodiscard]] Deadline due() const {
    if (retry_at_) return *retry_at_;
    if (!counts_from_) return Deadline::never();
    return Deadline::after(*counts_from_, length_ / renewals_in_a_lease);
  }
  /// Whether two thirds are over.
  [[nodiscard]] bool is_urgent(Moment now) const {
    return counts_from_ && now - *counts_from_ >= length_ - length_ / renewals_in_a_lease;
  }

 private:
  std::optional<Moment> counts_from_;
  Millis length_{0};
  Backoff pauses_{longest_pause};
  std::optional<Deadline> retry_at_;
};

}  // namespace store::etcd
