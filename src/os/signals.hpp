// Signals as values: blocked once, then read from a descriptor.
#pragma once

#include <csignal>
#include <optional>

#include "os/fd.hpp"

namespace os {

/// Who made a signal: the kernel on behalf of the terminal (^C, ^Z, a resize, a hang-up), or an
/// outer run that stops its job, of which we are a part: in both cases our job already has it, too.
/// Or a process that meant us.
enum class Sender { terminal, outer_run, process };

struct Signal {
  int number;
  Sender sender;
};

/// Makes rlock deaf to every signal it passes on, which then wait here to be taken; made before any
/// thread, so that all threads inherit the mask. Signals that were ignored at start stay ignored
/// (nohup). SIGPIPE and SIGXFSZ are blocked and never taken: a write to a dead server, or to a
/// stderr that has become too long a file, is an error, not a death. No disposition changes but
/// SIGCHLD's, and the job gets back what we were given; we stay deaf to the end, so that a late
/// TERM cannot replace the job's exit code. Main thread.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable while a signal waits.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  std::optional<Signal> take();

  /// The mark of a signal that was sent to each process of a tree (sigqueue(3)).
  static constexpr int whole_tree = 0x726c6f63;

  /// What the job is to start with.
  [[nodiscard]] const sigset_t& inherited_mask() const { return inherited_mask_; }
  [[nodiscard]] bool inherited_child_ignored() const { return child_ignored_; }

  /// Stops this process as `number` (SIGTSTP, SIGTTIN, SIGTTOU) would have if it were not blocked;
  /// returns when it is continued. The shell sees us stopped, which makes ^Z and fg work.
  /// The kernel does nothing where no job control could continue us (an orphaned process group).
  static void suspend(int number);

 private:
  sigset_t inherited_mask_{};
  bool child_ignored_ = false;
  Fd fd_;
};

}  // namespace os
