// Signals as values: blocked once, then read from a descriptor.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>

#include "os/fd.hpp"

namespace os {

/// The sender of a signal.
///   terminal   the kernel, to the whole foreground group (^C, ^Z, a resize, a hang-up)
///   outer_run  a run around this one, to each process of its job, which we are part of
///   kernel     the kernel, to this process alone (a timer from before the exec)
///   job        a process of our job
///   process    any other process
enum class Sender { terminal, outer_run, kernel, job, process };

struct Signal {
  int number;
  Sender sender;
  pid_t pid = 0;                         // of the sender; 0: the kernel, or another PID namespace
  std::optional<std::uint64_t> value{};  // that came with it (sigqueue(3))
};

/// What `number` does to a process that does not handle it.
bool ends_a_process(int number);
bool stops_a_process(int number);

/// Makes rlock deaf to every signal that can be caught, which then wait here to be taken; made
/// before any thread, so that all threads inherit the mask. Signals that were ignored at start stay
/// ignored (nohup), and glibc keeps its own. A failed write raises SIGPIPE or SIGXFSZ: both are
/// blocked, so that it is an error and not a death. The kernel still ends a process whose own fault
/// raises SIGSEGV and the like. No disposition changes but SIGCHLD's, and the job gets back what we
/// were given; we stay deaf to the end, so that a late TERM cannot replace the job's exit code.
/// Main thread.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable while a signal waits.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  std::optional<Signal> take();
  /// From now on SIGPIPE and SIGXFSZ that others send are taken, too. Our own failed writes wake
  /// the reader of the descriptor for nothing from then on.
  void take_all();

  /// The mark of a signal that was sent to each process of a tree (sigqueue(3)).
  static constexpr int whole_tree = 0x726c6f63;

  /// What the job is to start with.
  [[nodiscard]] const sigset_t& inherited_mask() const { return inherited_mask_; }
  [[nodiscard]] bool inherited_child_ignored() const { return child_ignored_; }

  /// Stops this process as `number` (SIGTSTP, SIGTTIN, SIGTTOU) would have if it were not blocked;
  /// returns when it is continued. The shell sees us stopped, which makes ^Z and fg work.
  /// The kernel does nothing where no job control could continue us (an orphaned process group).
  static void suspend(int number);

  /// Ends this process as `number` does by default, without a core file. Returns where that cannot
  /// be: the signal is ignored, or this is the first process of a container.
  static void die_of(int number);

 private:
  sigset_t inherited_mask_{};
  sigset_t taken_{};
  sigset_t of_failed_writes_{};
  bool child_ignored_ = false;
  Fd fd_;
};

}  // namespace os
