// The clock for leases, which also counts while the machine sleeps, and moments on that clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace base {

using Millis = std::chrono::milliseconds;
using std::chrono::ceil;

/// CLOCK_BOOTTIME: monotonic, never stepped, and (unlike CLOCK_MONOTONIC) running while the machine
/// is suspended, as the server's expiry does. Lease arithmetic deliberately uses no wall clock.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec ts{};
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return time_point{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
  }
};

using Moment = BootClock::time_point;

inline Moment now() noexcept {
  return BootClock::now();
}

/// Microseconds since 1970, by the wall clock. Only for an order among hosts that no safety depends
/// on; never for a lease.
inline std::uint64_t wall_us() noexcept {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(ts.tv_nsec) / 1'000;
}

/// A moment by which something must be over; `never()` compares later than every other.
class Deadline {
 public:
  static constexpr Deadline never() { return Deadline{Moment::max()}; }
  static constexpr Deadline at(Moment moment) { return Deadline{moment}; }
  /// Saturates at never(), so "forever" expressed as a huge length is safe.
  static Deadline after(Moment from, Millis length) {
    return length >= std::chrono::duration_cast<Millis>(Moment::max() - from)
               ? never()
               : Deadline{from + length};
  }

  [[nodiscard]] bool is_never() const { return moment_ == Moment::max(); }
  [[nodiscard]] bool passed(Moment now) const { return now >= moment_; }
  [[nodiscard]] Moment moment() const { return moment_; }

  /// The time left, rounded up so that waiting that long is enough; 0 once passed.
  [[nodiscard]] Millis left(Moment now) const {
    if (is_never()) return Millis::max();
    return passed(now) ? Millis{0} : ceil<Millis>(moment_ - now);
  }

  [[nodiscard]] Deadline earlier_by(Millis length) const {
    return is_never() ? *this : Deadline{moment_ - length};
  }

  auto operator<=>(const Deadline&) const = default;

 private:
  constexpr explicit Deadline(Moment moment) : moment_{moment} {}
  Moment moment_;
};

}  // namespace base
