// The job's process, started exactly as if rlock were not there.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace os {

class Signals;

/// How a process ended, as a shell reports it.
class ExitStatus {
 public:
  /// `wait_status` is that of waitpid(2) for an ended process.
  explicit ExitStatus(int wait_status) : status_{wait_status} {}

  [[nodiscard]] bool signalled() const { return WIFSIGNALED(status_); }
  /// The signal that killed the process; only if signalled().
  [[nodiscard]] int signal() const { return WTERMSIG(status_); }
  /// The exit code, or 128+N if signal N killed the process.
  [[nodiscard]] int code() const {
    return signalled() ? signal_code(signal()) : WEXITSTATUS(status_);
  }

  static int signal_code(int number) { return 128 + number; }

 private:
  int status_;
};

/// The command could not be started; no job ever existed.
struct NotStarted {
  // late: the command was still loading when its time was over; interrupted: a signal told us to
  // stop.
  enum class Stage { fork, exec, late, interrupted } stage;
  int number;  // errno, or the signal if interrupted
};

/// A change in the state of one of our processes.
struct Change {
  enum class Kind { ended, stopped } kind;
  pid_t pid;
  int status;  // as from waitpid(2)

  [[nodiscard]] int stop_signal() const { return WSTOPSIG(status); }
};

/// A command with its arguments and its whole environment ("NAME=value" each), ready to be
/// executed, so that a forked child need not allocate. Refers to both, which must outlive it. In
/// variables that name this process to itself, for systemd's sockets and watchdog, it puts the
/// command's pid.
class Program {
 public:
  Program(const std::vector<std::string>& argv, const std::vector<std::string>& environment);

  [[nodiscard]] char* const* argv() const { return argv_.data(); }
  [[nodiscard]] char* const* environment() const { return environment_.data(); }
  /// Call in the child, before it executes the program. Only writes to memory.
  void name_process(pid_t pid) const;

 private:
  /// "LISTEN_PID=" with room for a number.
  struct NamesProcess {
    std::string text;
    std::size_t number_at;
  };

  std::vector<char*> argv_;
  std::vector<char*> environment_;
  std::deque<NamesProcess> name_us_;  // a deque keeps their addresses
};

/// The limit on a child that has not executed its program yet. Loading a program can block for ever
/// on a silent file server; the parent sleeps meanwhile, and no other process knows the child.
struct StartLimit {
  int lifeline;  // one end of a pair of sockets: the child dies when the other end is closed
  base::Deadline until;
};

/// A started process. Passive: it never waits; its parent calls reap() after each SIGCHLD.
class Child {
 public:
  /// Runs `program`, found in PATH, with the signal mask and dispositions that `signals` found; the
  /// child inherits everything else: process group, terminal, descriptors, limits. Returns once the
  /// program is executed or `limit` has ended the child. Call before any thread of ours exists;
  /// nothing may arrive on the lifeline during the call.
  static base::Result<Child, NotStarted> spawn(const Program& program, const Signals& signals,
                                               const StartLimit& limit);

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit Child(pid_t pid) : pid_{pid} {}
  pid_t pid_;
};

/// Returns the next change among all our children, adopted orphans of the job included, and reaps
/// the ended ones. Never blocks: nothing if there is no change or no child.
std::optional<Change> reap();

}  // namespace os
