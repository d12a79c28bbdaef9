// The job and everything that descends from it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "os/child.hpp"
#include "os/proc.hpp"

namespace os {

/// What came of a signal to several processes.
struct Reached {
  struct Refused {
    pid_t pid;
    int error;  // errno

    /// A line for people.
    [[nodiscard]] std::string text(int signal) const;
  };
  std::size_t processes = 0;         // that it was sent to
  std::vector<Process> members{};    // that were seen, the dead among them
  std::optional<Refused> refused{};  // the last one that the kernel did not let us signal
  int unseen = 0;  // errno, if there may be others that could not be seen (Look::error())

  /// `error`: 0 if it was sent, ESRCH if the process has ended meanwhile.
  void note(pid_t pid, int error);
};

/// While it lives, its thread goes before others, if it may (CAP_SYS_NICE): each process of a storm
/// of forks has as many turns as we, and we have to outrun them all. So does the whole session, if
/// it is `own`: led by this process, which is alone in it.
class Urgency {
 public:
  enum class Session { shared, own };
  explicit Urgency(Session session = Session::shared);
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;
  ~Urgency();

 private:
  Session session_;
  int usual_;  // the nice value before
};

/// Makes this process a child subreaper: a descendant whose parent dies becomes our child instead
/// of init's, so nothing that the job started, setsid'ed daemons included, can leave the tree.
///
/// Children that we had before do not belong to it (a shell that exec'ed rlock may have left some),
/// nor do orphans that come to us later from elsewhere: theirs, and process 1 of a container is
/// given every one. Main thread.
class ProcessTree {
 public:
  /// Below this process. Reserves descriptors for looks.
  ProcessTree();

  /// Whether an orphan can ever come to us that does not descend from a child of later.
  [[nodiscard]] bool may_get_strangers() const;
  /// A child of ours that never belongs to the tree, until we wait for it.
  void exclude(pid_t child);

  /// From now on the tree is what is below `guardian`, itself a subreaper, without it.
  void be_below(pid_t guardian);
  /// What is between us and the tree, if anything is.
  [[nodiscard]] std::optional<pid_t> guardian() const {
    return guardian_ > 0 ? std::optional{guardian_} : std::nullopt;
  }
  /// The guardian was killed, and its orphans came to us. If strangers can have come as well, those
  /// of our children that started after it: nothing tells which is which.
  void inherit();
  /// The guardian has left in order: whoever comes to us is a stranger.
  void disband();

  /// Sends `number` to every member, parents first, and says whom it reached. One that forks
  /// meanwhile may be missed, so a kill is repeated until empty(). Any other signal may miss some
  /// where it takes more than a second to look at all processes.
  enum class Members { all, outside_our_group };
  Reached signal(int number, Members which = Members::all) const;
  /// Whether a process that lives, or is a zombie, belongs to it.
  [[nodiscard]] bool is_member(pid_t pid) const;
  /// SIGKILL to this process's own children, again and again without a pause, until no new one
  /// appears (true) or a moment is over: faster than what forks and exits as fast as it can. Only
  /// where all children are members. Those that ended are reaped, and `on_change` is told.
  static bool kill_children(const std::function<void(const Change&)>& on_change);
  /// SIGCONT to the members that are stopped, and to no other.
  Reached resume() const;
  /// True when no member is left, not even a zombie, and all could be seen. Call it after reaping.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool is_inherited() const { return guardian_ == 0 && since_ != 0; }
  [[nodiscard]] bool is_disbanded() const { return guardian_ < 0; }
  [[nodiscard]] pid_t root() const;
  [[nodiscard]] std::vector<pid_t> strangers(const std::vector<Process>& all) const;
  /// Those seen by then.
  [[nodiscard]] std::vector<Process> members(Look& look, base::Deadline until,
                                             const std::vector<Process>& hidden) const;
  [[nodiscard]] std::vector<Process> members_at_hand(Look& look) const;

  std::vector<pid_t> not_ours_;   // children from before; sorted
  std::vector<pid_t> excluded_;   // children of rlock's own that are no job
  pid_t guardian_ = 0;            // while it is between us and the tree; -1 once it has left
  unsigned long long since_ = 0;  // when the first one started; 0 if there never was one
};

// Pure, for the unit tests.

/// The processes of `all` that descend from `root`, parents before children, but not its children
/// in `not_ours` (sorted), nor their descendants.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                 const std::vector<pid_t>& not_ours);

}  // namespace os
