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
  std::optional<std::uint64_t> value{};  // sent with the signal (sigqueue(3))
};

/// The effect of `number` on a process that does not handle it.
bool ends_a_process(int number);
bool stops_a_process(int number);

/// Blocks every signal that can be caught and queues them here. Construct it before any thread, so
/// that all threads inherit the mask. Signals ignored at start stay ignored (nohup), and glibc
/// keeps its own. A failed write raises SIGPIPE or SIGXFSZ; both are blocked, so that we get an
/// error instead of dying. The kernel still ends a process whose own fault raises SIGSEGV and the
/// like. Only SIGCHLD's disposition changes, and the job starts with the original ones. Signals
/// stay blocked to the end, so that a late TERM cannot replace the job's exit code. Main thread.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable while a signal is queued.
  [[nodiscard]] int descriptor() const { return fd_.number(); }
  std::optional<Signal> take();
  /// From now on also takes SIGPIPE and SIGXFSZ from other processes. Our own failed writes then
  /// wake the reader of the descriptor in vain.
  void take_all();

  /// Marks a signal that was sent to each process of a tree (sigqueue(3)).
  static constexpr int whole_tree = 0x726c6f63;

  /// The mask and dispositions for the job.
  [[nodiscard]] const sigset_t& inherited_mask() const { return inherited_mask_; }
  [[nodiscard]] bool inherited_child_ignored() const { return child_ignored_; }

  /// Stops this process as `number` (SIGTSTP, SIGTTIN, SIGTTOU) would if it were not blocked;
  /// returns when continued. The shell sees us stopped, which makes ^Z and fg work. In an orphaned
  /// process group, where no job control could continue us, the kernel does nothing.
  static void suspend(int number);

  /// Ends this process as `number` does by default, without a core file. Returns if that is
  /// impossible: the signal is ignored, or this is the first process of a container.
  static void die_of(int number);

 private:
  sigset_t inherited_mask_{};
  sigset_t taken_{};
  sigset_t of_failed_writes_{};
  bool child_ignored_ = false;
  Fd fd_;
};

}  // namespace os
