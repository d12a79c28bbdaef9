// The job's process: started exactly as if we had not been there.
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

/// How a process ended, as a shell would say it.
class ExitStatus {
 public:
  /// As from waitpid(2), of a process that has ended.
  explicit ExitStatus(int wait_status) : status_{wait_status} {}

  [[nodiscard]] bool signalled() const { return WIFSIGNALED(status_); }
  /// The signal it died of; only if signalled().
  [[nodiscard]] int signal() const { return WTERMSIG(status_); }
  /// Its own exit code, or 128+N if it died of signal N.
  [[nodiscard]] int code() const {
    return signalled() ? signal_code(signal()) : WEXITSTATUS(status_);
  }

  static int signal_code(int number) { return 128 + number; }

 private:
  int status_;
};

/// The command could not be run; the job never existed.
struct NotStarted {
  // late: the command was still being loaded when its time was over; interrupted: when we were told
  // to stop.
  enum class Stage { fork, exec, late, interrupted } stage;
  int number;  // of the error (errno); where interrupted, of the signal
};

/// What became of a process of ours since we last asked.
struct Change {
  enum class Kind { ended, stopped } kind;
  pid_t pid;
  int status;  // as from waitpid(2)

  [[nodiscard]] int stop_signal() const { return WSTOPSIG(status); }
};

/// A command with its arguments and its whole environment ("NAME=value" each), ready to be
/// executed: nothing is left to allocate in a child that has just been forked. Refers to both,
/// which must outlive it. Variables that name this process to itself, for systemd's sockets and
/// watchdog, are to name the command's.
class Program {
 public:
  Program(const std::vector<std::string>& argv, const std::vector<std::string>& environment);

  [[nodiscard]] char* const* argv() const { return argv_.data(); }
  [[nodiscard]] char* const* environment() const { return environment_.data(); }
  /// In the child, before it executes the program: only writes to memory.
  void name_process(pid_t pid) const;

 private:
  /// "LISTEN_PID=" and room for a number.
  struct NamesProcess {
    std::string text;
    std::size_t number_at;
  };

  std::vector<char*> argv_;
  std::vector<char*> environment_;
  std::deque<NamesProcess> name_us_;  // whose addresses stay
};

/// What ends a child that has not executed its program yet. Loading a program can take for ever
/// where a file server is silent; the parent sleeps all the while, and nobody else knows the child.
struct StartLimit {
  int lifeline;  // one end of a pair of sockets: the child dies when the other end is closed
  base::Deadline until;
};

/// A started process. Passive: it waits for nothing by itself; its parent asks reap() whenever
/// SIGCHLD was taken.
class Child {
 public:
  /// Runs `program`, found in PATH, with the signal mask and dispositions that `signals` found, and
  /// everything else inherited: process group, terminal, descriptors, limits. Returns when the
  /// program is executed or `limit` has ended the child. To be called before any thread of ours
  /// exists; nothing may come through the lifeline meanwhile.
  static base::Result<Child, NotStarted> spawn(const Program& program, const Signals& signals,
                                               const StartLimit& limit);

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit Child(pid_t pid) : pid_{pid} {}
  pid_t pid_;
};

/// The next change among all our children (orphans of the job that came to us, too); the ended ones
/// are reaped. Never blocks: nothing if there is none, or no child at all.
std::optional<Change> reap();

}  // namespace os
