// Waiting for descriptors and moments.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// How long a call may take: until a moment, or until the descriptor `interrupt` (not owned, -1 for
/// none) becomes readable, whichever comes first. The interrupt is level-triggered and is not
/// consumed here: its owner reads it.
struct CallLimit {
  base::Deadline until;
  int interrupt = -1;
  /// Told when the server's machine has taken the connection: what we send will get there, whether
  /// we hear an answer or not. Not owned, null for nobody.
  std::atomic<bool>* connected = nullptr;
  /// From then on the wait is a long one, in which nobody expects an answer soon: who sleeps, and
  /// is to sleep for seconds more, gives back memory first (os/memory.hpp).
  base::Deadline long_from = base::Deadline::never();

  /// The same, but at most until `deadline`.
  [[nodiscard]] CallLimit at_most(base::Deadline deadline) const {
    return {std::min(until, deadline), interrupt, connected, long_from};
  }
  void note_connected() const {
    if (connected != nullptr) connected->store(true, std::memory_order_relaxed);
  }
};

enum class Want { read, write };
enum class Ready { yes, timed_out, interrupted };

/// Waits until `fd` can be read from or written to; errors and hang-ups count as ready, too. An
/// interrupt wins over data, so that it never waits behind a chatty server.
Ready wait_for(int fd, Want want, const CallLimit& limit);

/// Whether it can be read from now; never for -1.
bool is_readable(int fd);

/// How much of a socket or a pipe can be read at once; 0 for what has no such number.
std::size_t readable_bytes(int fd);

/// Whether there is no time for another question: the limit has passed, or was interrupted.
bool ended(const CallLimit& limit);

/// Whether the other end of a socket has closed it for writing, or altogether, even if there is
/// still data to read.
bool is_hung_up(int socket);

/// Waits until one of `fds` (-1 is skipped) is readable or the deadline passed.
void wait_any(const std::vector<int>& fds, base::Deadline until);

/// The same within the limit, or until the other end of one of `pipes` is gone, even if there is
/// still data to read; says whether one is.
bool wait_any(const std::vector<int>& fds, const std::vector<int>& pipes, const CallLimit& limit);

/// Several descriptors behind one (epoll(7)): descriptor() is readable while one of them is. It
/// does not own them. Those that are -1 are skipped.
class PollSet {
 public:
  explicit PollSet(const std::vector<int>& fds);
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  Fd fd_;
};

/// An alarm on CLOCK_BOOTTIME. Readable once its deadline passed, also when the machine slept
/// through it: poll()'s own timeout counts on a clock that sleeps too, and a lease must not. One
/// thread at a time.
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
