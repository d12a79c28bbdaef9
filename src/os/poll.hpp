// Waiting for a descriptor, never longer than its limit.
#pragma once

#include <vector>

#include "base/clock.hpp"

namespace os {

/// How long a call may take: until a moment, or until the descriptor `interrupt` (not owned, -1 for
/// none) becomes readable, whichever comes first. The interrupt is level-triggered and is not
/// consumed here: whoever owns it reads it.
struct CallLimit {
  base::Deadline until;
  int interrupt = -1;

  /// The same, but at most until `deadline`.
  [[nodiscard]] CallLimit at_most(base::Deadline deadline) const {
    return {std::min(until, deadline), interrupt};
  }
};

enum class Want { read, write };
enum class Ready { yes, timed_out, interrupted };

/// Waits until `fd` can be read from or written to; errors and hang-ups count as ready, too. An
/// interrupt wins over data, so that nobody has to wait behind a chatty server.
Ready wait_for(int fd, Want want, const CallLimit& limit);

/// Whether it can be read from now; never for -1.
bool is_readable(int fd);

/// Waits until one of `fds` (-1 is skipped) is readable or the deadline passed.
void wait_any(const std::vector<int>& fds, base::Deadline until);

/// The same, or until the other end of one of `pipes` is gone, whatever there is to read in it;
/// says whether one is.
bool wait_any(const std::vector<int>& fds, const std::vector<int>& pipes, base::Deadline until);

}  // namespace os
