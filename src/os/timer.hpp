// An alarm on CLOCK_BOOTTIME, as a descriptor to poll.
#pragma once

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// Readable once its deadline passed, also when the machine slept through it: poll()'s own timeout
/// counts on a clock that sleeps too, and a lease must not. One thread at a time.
class Timer {
 public:
  Timer();
  /// Replaces what was set; never() disarms. Setting what is already set costs nothing.
  void set(base::Deadline deadline);
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  Fd fd_;
  base::Deadline set_ = base::Deadline::never();
};

}  // namespace os
