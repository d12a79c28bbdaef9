// Waiting for descriptors and moments.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// The limit of a call: a moment, or the descriptor `interrupt` (not owned, -1 for none) becoming
/// readable, whichever comes first. The interrupt is level-triggered; its owner reads it.
struct CallLimit {
  base::Deadline until;
  int interrupt = -1;
  /// Set once the server's machine has accepted the connection: from then on our request arrives,
  /// even if its answer does not. Not owned; may be null.
  std::atomic<bool>* connected = nullptr;
  /// From this moment on the wait is long and no answer is expected soon, so a sleep of seconds
  /// first gives back memory (os/memory.hpp).
  base::Deadline long_from = base::Deadline::never();
  /// Of a wait whose state the caller wants to tell at this moment: shortly before, the wait should
  /// end once, if only the callee may end it.
  base::Deadline news_by = base::Deadline::never();

  /// The same limit, but at most until `deadline`.
  [[nodiscard]] CallLimit at_most(base::Deadline deadline) const {
    return {std::min(until, deadline), interrupt, connected, long_from, news_by};
  }
  void note_connected() const {
    if (connected != nullptr) connected->store(true, std::memory_order_relaxed);
  }
};

enum class Want { read, write };
enum class Ready { yes, timed_out, interrupted };

/// Waits until `fd` is readable or writable; errors and hang-ups count as ready. An interrupt wins
/// over data, so that it never waits behind a chatty server.
Ready wait_for(int fd, Want want, const CallLimit& limit);

/// Whether `fd` is readable now; false for -1.
bool is_readable(int fd);

/// How many bytes a socket or a pipe holds for reading; 0 if the descriptor has no such number.
std::size_t readable_bytes(int fd);

/// Whether the limit has passed or was interrupted, so that there is no time for another request.
bool ended(const CallLimit& limit);

/// Whether the other end of a socket has closed it, for writing or altogether, even if there is
/// still data to read.
bool is_hung_up(int socket);

/// Waits until one of `fds` (-1 is skipped) is readable or the deadline has passed.
void wait_any(const std::vector<int>& fds, base::Deadline until);

/// The same within the limit, or until the other end of one of `pipes` is gone, even if there is
/// still data to read; returns whether one is gone.
bool wait_any(const std::vector<int>& fds, const std::vector<int>& pipes, const CallLimit& limit);

/// Several descriptors as one (epoll(7)): descriptor() is readable while one of them is. Does not
/// own them, and skips -1.
class PollSet {
 public:
  explicit PollSet(const std::vector<int>& fds);
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  Fd fd_;
};

/// An alarm on CLOCK_BOOTTIME, readable once its deadline has passed, even if the machine slept
/// through it. poll()'s own timeout stops during suspend, and a lease does not. One thread at a
/// time.
class Timer {
 public:
  Timer();
  /// Replaces the deadline; never() disarms. Setting the same deadline again costs nothing.
  void set(base::Deadline deadline);
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  Fd fd_;
  base::Deadline set_ = base::Deadline::never();
};

}  // namespace os
