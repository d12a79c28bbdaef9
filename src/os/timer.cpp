#include "os/timer.hpp"

#include <sys/timerfd.h>

#include "os/check.hpp"

namespace os {

Timer::Timer()
    : fd_{check(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "creating a timer")} {}

void Timer::set(base::Deadline deadline) {
  if (deadline == set_) return;
  set_ = deadline;
  itimerspec spec{};
  if (!deadline.is_never()) {
    // A zero time would disarm; the epoch of this clock is the boot, so 1 ns is long past.
    const auto at = std::max(deadline.moment().time_since_epoch(), std::chrono::nanoseconds{1});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (at - seconds).count();
  }
  check(timerfd_settime(fd_.number(), TFD_TIMER_ABSTIME, &spec, nullptr), "setting a timer");
}

}  // namespace os
