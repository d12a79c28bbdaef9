// rlock's end of the guardian, a small process between rlock and the job that ends the job if rlock
// dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "os/child.hpp"
#include "os/guardian_line.hpp"

namespace os {

class ProcessTree;
class Signals;

/// Controls the job and its guardian. The guardian is the job's parent and the subreaper of all its
/// descendants. It starts the job, reports its changes, and kills the whole tree when rlock dies,
/// for whatever reason, or misses the deadline that it set itself. If the guardian is killed, the
/// kernel kills the job's process, and its orphans reach us, who must be a subreaper. The two
/// processes share no memory, so that no single choice of the kernel's out-of-memory killer takes
/// both.
///
/// If unrelated orphans can reach us as well, the guardian has an heir: a process between us and
/// the guardian, which only the leftovers of a killed guardian can reach, and which kills those.
///
/// The guardian has another name, command line, session and process group than rlock, so that
/// signals meant for rlock miss it, and blocks every signal that can be blocked. It keeps every
/// descriptor of rlock's while it guards a tree: a lock that the kernel frees when its holder is
/// gone is not free before the job is gone. Main thread.
class Guardian {
 public:
  /// Starts the guardian, and the command as Child::spawn() does. If `until` passes without being
  /// moved, the guardian kills the tree, or does not start it: loading a command can block for ever
  /// on a silent file server. It guards `tree`, which must outlive it. Call before any thread of
  /// ours exists.
  static base::Result<Guardian, NotStarted> start_job(const Program& program, Signals& signals,
                                                      ProcessTree& tree, base::Deadline until);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  /// Dismisses the guardian and leaves no zombie behind.
  ~Guardian();

  /// From now on the rest of the tree is ours alone, and the guardian closes its copies of our
  /// descriptors.
  void dismiss();

  /// Signals the job's own process; does nothing once that has ended.
  void signal_job(int number, std::optional<std::uint64_t> value = std::nullopt);
  /// Signals the whole tree, or at least the job's process, for an rlock that cannot see the tree.
  void signal_tree(int number);
  /// Whether the job runs in our process group: then a signal from the terminal reaches both.
  [[nodiscard]] bool job_is_in_our_group() const;
  /// Whether the job, once reported as stopped, still is: neither continued nor ended.
  [[nodiscard]] bool job_is_stopped() const;
  /// Whether the job's group is in the foreground of our terminal, and our parent is a shell that
  /// sees us stop.
  [[nodiscard]] bool job_has_terminal() const;
  void keep_until(base::Deadline until);
  /// Has the guardian kill the tree. It does that better than we can, because they are its
  /// children.
  void kill_tree();

  /// Readable while take() has a change; that includes a SIGCHLD of ours. -1 once nothing more can
  /// come.
  [[nodiscard]] int descriptor() const { return hung_up_ ? -1 : line_.descriptor(); }
  /// The next change of the job's process. Also reaps all our other ended children. A job whose end
  /// was not reported was killed. Never blocks.
  std::optional<Change> take();
  /// As Witness: the signals that the guardian itself received. take() handles the reports.
  void ask(int question);
  std::optional<Report> take_of_signals();
  /// The job's process; 0 if the guardian was killed before it could report it.
  [[nodiscard]] pid_t job() const { return job_; }
  [[nodiscard]] bool hears() const { return !hung_up_; }
  /// Whether a person or the kernel (out of memory) killed the guardian before the job ended.
  [[nodiscard]] bool was_killed() const { return killed_; }

 private:
  Guardian(GuardianLine line, pid_t pid, ProcessTree& tree, base::Deadline until);
  std::optional<NotStarted> await_start(Signals& signals);
  void undo_start();
  void continue_guardian() const;
  std::optional<Change> hear();
  Change over(Change change);

  /// The guardian sends nothing more. It reports the job's end before it ends itself.
  void hang_up();
  void forget_guardian(const Change& end);
  [[nodiscard]] bool has_heir() const { return guardian_ != 0 && inner_ != guardian_; }

  GuardianLine line_;
  ProcessTree& tree_;
  pid_t guardian_;  // or its heir: our child; 0 once reaped, or if it is another process's
  pid_t inner_;     // the guardian itself, once reported
  pid_t job_ = 0;   // unknown if the guardian was killed before it could report it
  bool hung_up_ = false;
  bool killed_ = false;
  bool ended_ = false;
  bool left_ = false;  // it has dropped all that is ours and will exit at once
  std::deque<Report> of_signals_{};
  base::Deadline until_;  // as last told to the guardian
};

}  // namespace os
