// An owned file descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace os {

/// Move-only; closes on destruction. Every descriptor that rlock opens is close-on-exec from the
/// start, so that the job inherits exactly what rlock inherited.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_{number} {}
  Fd(Fd&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (number_ >= 0) ::close(number_);
  }

  explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// Releases the number; the caller closes it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// For descriptors that a library opened.
inline void close_on_exec(int fd) {
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace os
