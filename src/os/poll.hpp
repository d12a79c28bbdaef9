// Waiting for a descriptor, never longer than one has patience for.
#pragma once

#include <initializer_list>

#include "base/clock.hpp"

namespace os {

/// How long a call may take: until a moment, or until the descriptor `interrupt` (not owned, -1 for
/// none) becomes readable, whichever comes first. The interrupt is level-triggered and is not
/// consumed here: whoever owns it reads it.
struct Patience {
  base::Deadline until;
  int interrupt = -1;

  /// The same, but at most until `deadline`.
  [[nodiscard]] Patience at_most(base::Deadline deadline) const {
    return {std::min(until, deadline), interrupt};
  }
};

enum class Ready { yes, timed_out, interrupted };

/// Waits until `fd` has one of `events` (POLLIN, POLLOUT; errors and hang-ups count as ready).
/// An interrupt wins over data, so that nobody has to wait behind a chatty server.
Ready wait_for(int fd, short events, const Patience& patience);

/// Waits until one of `fds` (-1 is skipped) is readable or the deadline passed.
void wait_any(std::initializer_list<int> fds, base::Deadline until);

}  // namespace os
