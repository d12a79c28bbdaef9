// Pauses between tries: each is twice as long as the one before, up to a longest. No clock.
#pragma once

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace store::etcd {

class Backoff {
 public:
  constexpr explicit Backoff(base::Millis longest) : longest_{longest} {}

  /// The pause before the next try.
  base::Millis next() { return std::exchange(pause_, std::min(pause_ * 2, longest_)); }
  /// A try succeeded: the next pause is a short one.
  void reset() { pause_ = shortest; }

 private:
  static constexpr base::Millis shortest{50};
  base::Millis longest_;
  base::Millis pause_{shortest};
};

}  // namespace store::etcd
