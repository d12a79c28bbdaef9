// The job's process, with somebody who sees to it that it does not outlive us.
#pragma once

#include <optional>
#include <variant>

#include "os/child.hpp"
#include "os/guard_line.hpp"

namespace os {

/// rlock's hand on the job and on its guardian, a small process between the two (see Guard). Should
/// rlock be killed, the guardian kills the whole tree; should the guardian be killed, the kernel
/// kills the job's process, and its orphans come to us, who must be a subreaper. Neither has memory
/// in common with the other, so that no single choice of the kernel's out-of-memory killer takes
/// both. Main thread.
class Guardian {
 public:
  /// Starts the guardian, and the command as Child::spawn() does. If `until` passes and was not
  /// moved, the tree is killed, or not started any more: loading a command can take for ever where
  /// a file server is silent. To be called before any thread of ours exists.
  static std::variant<Guardian, NotStarted> start_job(const Program& program, Signals& signals,
                                                      base::Deadline until);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  /// Dismisses it, and leaves no zombie behind.
  ~Guardian();

  /// What is left of the tree is nobody's from then on but ours, and what the guardian had of our
  /// descriptors is closed.
  void dismiss();

  /// To the job's own process; nothing happens once it has ended.
  void signal_job(int number);
  void keep_until(base::Deadline until);

  /// Readable while take() has something to say; so it has after SIGCHLD. -1 once nothing comes.
  [[nodiscard]] int descriptor() const { return hung_up_ ? -1 : line_.descriptor(); }
  /// What became of the job's process; all our other children that ended are reaped on the way.
  /// A job whose end nobody saw was killed. Never blocks.
  std::optional<Change> take();
  /// It ended before the job did: was killed, that is, by a person or for want of memory.
  [[nodiscard]] bool was_killed() const { return killed_; }

 private:
  Guardian(GuardLine line, pid_t pid, base::Deadline until)
      : line_{std::move(line)}, guardian_{pid}, until_{until} {}
  std::optional<NotStarted> await_start(Signals& signals);
  std::optional<Change> hear();
  Change over(Change change);

  GuardLine line_;
  pid_t guardian_;  // 0 once it was reaped, or belongs to another
  pid_t job_ = 0;   // unknown if the guardian was killed before it could tell
  bool hung_up_ = false;
  bool killed_ = false;
  bool ended_ = false;
  bool left_ = false;     // it has nothing of ours, and will have exited in no time
  base::Deadline until_;  // as the guardian knows it
};

}  // namespace os
