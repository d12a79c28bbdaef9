// Threads with a small stack.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "os/error.hpp"

namespace os {

/// As std::thread, but with a fixed stack size: by default it is the limit of the main thread's
/// (ulimit -s), for which a limit of the address space (ulimit -v) may leave no room. Join or
/// detach it before destruction. Move-only.
class Thread {
 public:
  Thread() = default;
  /// A name look-up (glibc's resolver and plug-ins) and a TLS handshake take some 100 KiB at most.
  static constexpr std::size_t small_stack = std::size_t{512} * 1024;
  /// For code of others. Only touched pages take memory.
  static constexpr std::size_t usual_stack = std::size_t{8} * 1024 * 1024;
  /// Runs `body`, which must not throw, or returns why the system refuses a thread. The new thread
  /// logs where the calling one does.
  static Result<Thread> start(std::function<void()> body, std::size_t stack = small_stack);
  Thread(Thread&& other) noexcept
      : thread_{other.thread_}, joinable_{std::exchange(other.joinable_, false)} {}
  Thread& operator=(Thread&& other) noexcept {
    std::swap(thread_, other.thread_);
    std::swap(joinable_, other.joinable_);
    return *this;
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();

  [[nodiscard]] bool joinable() const { return joinable_; }
  void join();
  void detach();

 private:
  explicit Thread(pthread_t thread) : thread_{thread}, joinable_{true} {}

  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace os
