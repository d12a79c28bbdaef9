#include "os/sigpipe.hpp"

#include <pthread.h>

#include <ctime>

namespace os {
namespace {

sigset_t only_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool is_pending() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

/// Returns the mask before.
sigset_t block() {
  const auto set = only_sigpipe();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  return before;
}

}  // namespace

// Unblocked, it would have been delivered.
NoSigpipe::NoSigpipe()
    : before_{block()}, was_pending_{sigismember(&before_, SIGPIPE) == 1 && is_pending()} {}

NoSigpipe::~NoSigpipe() {
  if (!was_pending_ && is_pending()) {
    const auto set = only_sigpipe();
    const timespec at_once{};
    ::sigtimedwait(&set, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace os
