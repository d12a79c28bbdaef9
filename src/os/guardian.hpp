// The guardian of the job, from rlock's end: a small process between rlock and the job that sees to
// it that the job does not outlive rlock.
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

/// rlock's hand on the job and on its guardian. The guardian is the job's parent, and the subreaper
/// of all that descends from it. It starts the job, reports what becomes of it, and kills the whole
/// tree when rlock dies, whatever it dies of, or lets the time pass that it has set itself. Should
/// the guardian be killed, the kernel kills the job's process, and its orphans come to us, who must
/// be a subreaper. Neither has memory in common with the other, so that no single choice of the
/// kernel's out-of-memory killer takes both.
///
/// Where orphans of others can come to us as well, the guardian has an heir: a process between us
/// and it, to which nothing can come but what a killed guardian leaves, and which kills that.
///
/// The guardian has another name, command line, session and process group than rlock, so that what
/// is meant for rlock does not hit it, and blocks every signal that can be blocked. It keeps every
/// descriptor of rlock's as long as it has a tree to guard: a lock that the kernel frees when its
/// holder is gone is free when the job is gone, too. Main thread.
class Guardian {
 public:
  /// Starts the guardian, and the command as Child::spawn() does. If `until` passes and was not
  /// moved, the tree is killed, or not started any more: loading a command can take for ever where
  /// a file server is silent. `tree`, which must outlive it, is what it guards. To be called before
  /// any thread of ours exists.
  static base::Result<Guardian, NotStarted> start_job(const Program& program, Signals& signals,
                                                      ProcessTree& tree, base::Deadline until);
  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  /// Dismisses it, and leaves no zombie behind.
  ~Guardian();

  /// From then on what is left of the tree is ours alone, and the guardian's copies of our
  /// descriptors are closed.
  void dismiss();

  /// To the job's own process; nothing happens once it has ended.
  void signal_job(int number, std::optional<std::uint64_t> value = std::nullopt);
  /// To the whole tree, for an rlock that cannot see it. At least to the job's own process.
  void signal_tree(int number);
  /// Whether its own process runs, in our process group: then a signal of the terminal reaches
  /// both.
  [[nodiscard]] bool job_is_in_our_group() const;
  /// Whether the job, once reported to be stopped, still is: not continued, nor ended since.
  [[nodiscard]] bool job_is_stopped() const;
  /// Whether the job's group is in the foreground of our terminal, and our parent is a shell that
  /// sees us stop.
  [[nodiscard]] bool job_has_terminal() const;
  void keep_until(base::Deadline until);
  /// Has the guardian kill the tree, which it does better than we can: they are its children.
  void kill_tree();

  /// Readable while take() has something to say; so it has after SIGCHLD. -1 once nothing comes.
  [[nodiscard]] int descriptor() const { return hung_up_ ? -1 : line_.descriptor(); }
  /// What became of the job's process; all our other children that ended are reaped on the way.
  /// A job whose end was not reported was killed. Never blocks.
  std::optional<Change> take();
  /// As Witness: which signals came to the guardian itself. Reports come by take().
  void ask(int question);
  std::optional<Report> take_of_signals();
  /// The job's process; 0 if the guardian was killed before it could tell.
  [[nodiscard]] pid_t job() const { return job_; }
  [[nodiscard]] bool hears() const { return !hung_up_; }
  /// Whether the guardian ended before the job did: a person or the kernel (out of memory) killed
  /// it.
  [[nodiscard]] bool was_killed() const { return killed_; }

 private:
  Guardian(GuardianLine line, pid_t pid, ProcessTree& tree, base::Deadline until);
  std::optional<NotStarted> await_start(Signals& signals);
  void undo_start();
  void continue_guardian() const;
  std::optional<Change> hear();
  Change over(Change change);

  /// Nothing more comes from the guardian, which tells of the job's end before it ends by itself.
  void hang_up();
  void forget_guardian(const Change& end);
  [[nodiscard]] bool has_heir() const { return guardian_ != 0 && inner_ != guardian_; }

  GuardianLine line_;
  ProcessTree& tree_;
  pid_t guardian_;  // or its heir: our child; 0 once it was reaped, or belongs to another
  pid_t inner_;     // the guardian itself, once it has told
  pid_t job_ = 0;   // unknown if the guardian was killed before it could tell
  bool hung_up_ = false;
  bool killed_ = false;
  bool ended_ = false;
  bool left_ = false;  // it has nothing of ours, and will have exited in no time
  std::deque<Report> of_signals_{};
  base::Deadline until_;  // as the guardian knows it
};

}  // namespace os
