// The rate at which a waiter asks again, whatever a server does to its waits.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.hpp"

namespace hold {

/// The pauses of one waiter. Being queued proves nothing: a server, or a proxy in front of it, may
/// answer each claim and cut each wait, so only a wait that lasted ends the back-off. Pure.
class WaitPace {
 public:
  using Millis = base::Millis;
  static constexpr Millis first_retry{50};
  static constexpr Millis longest_retry{1'000};
  // Two wakes come this close together when several runs end at once, or when waiters of a quorum
  // outbid each other; but not two hundred times in a row.
  static constexpr Millis soon{50};
  static constexpr int most_in_a_row = 200;
  static constexpr Millis between_wakes{100};
  // Shorter cuts are not reported.
  static constexpr Millis worth_a_word{1'000};

  /// The pause after a failed request.
  Millis after_fault() {
    const Millis pause = retry_;
    retry_ = std::min(retry_ * 2, longest_retry);
    return pause;
  }
  /// The pause after a wait without result that began at `began`; `cut`: it ended early.
  Millis after_wait(base::Moment began, base::Moment now, bool cut) {
    const auto lasted = now - began;
    in_a_row_ = lasted < soon ? in_a_row_ + 1 : 0;
    if (lasted >= longest_retry) {
      retry_ = first_retry;
      cut_since_.reset();
      said_ = false;
    }
    if (!cut) return in_a_row_ > most_in_a_row ? between_wakes : Millis{0};
    if (!cut_since_) cut_since_ = began;
    return after_fault();
  }
  /// True once, when waits have been cut for a second.
  bool is_to_be_said(base::Moment now) {
    if (said_ || !cut_since_ || now - *cut_since_ < worth_a_word) return false;
    said_ = true;
    return true;
  }

 private:
  Millis retry_{first_retry};
  int in_a_row_ = 0;
  std::optional<base::Moment> cut_since_;
  bool said_ = false;
};

}  // namespace hold
