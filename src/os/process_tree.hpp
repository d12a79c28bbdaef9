// The job and all its descendants.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "os/child.hpp"
#include "os/proc.hpp"

namespace os {

/// The outcome of a signal to several processes.
struct Reached {
  struct Refused {
    pid_t pid;
    int error;  // errno

    /// A line for people.
    [[nodiscard]] std::string text(int signal) const;
  };
  std::size_t processes = 0;         // that the signal was sent to
  std::vector<Process> members{};    // that were seen, dead ones included
  std::optional<Refused> refused{};  // the last one that the kernel did not let us signal
  int unseen = 0;                    // errno if other members may be invisible (Look::error())

  /// `error`: 0 if it was sent, ESRCH if the process had already ended.
  void note(pid_t pid, int error);
};

/// Raises the priority of its thread while it lives, if we may (CAP_SYS_NICE): each process of a
/// fork storm is scheduled as often as we are, and we must outrun them all. If the session is its
/// `own`, led by this process and otherwise empty, raises the session's as well.
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

/// Makes this process a child subreaper: a descendant whose parent dies becomes our child, not
/// init's, so no process of the job, not even a daemon that called setsid(2), can leave the tree.
///
/// Our earlier children do not belong to it (a shell that exec'ed rlock may have left some), nor do
/// unrelated orphans that reach us later: those of the earlier children, or any process in a
/// container whose process 1 we are. Main thread.
class ProcessTree {
 public:
  /// The tree below this process. Reserves descriptors for looks.
  ProcessTree();

  /// Whether an orphan can reach us that does not descend from a later child.
  [[nodiscard]] bool may_get_strangers() const;
  /// Excludes a child of ours from the tree until we wait for it.
  void exclude(pid_t child);

  /// From now on the tree is everything below `guardian`, itself a subreaper.
  void be_below(pid_t guardian);
  /// The process between us and the tree, if there is one.
  [[nodiscard]] std::optional<pid_t> guardian() const {
    return guardian_ > 0 ? std::optional{guardian_} : std::nullopt;
  }
  /// Call when the guardian was killed and its orphans reached us. If strangers may have come as
  /// well, the tree is our children that started after the guardian: nothing distinguishes them.
  void inherit();
  /// Call when the guardian has left in order: orphans that reach us from now on are strangers.
  void disband();

  /// Sends `number` to every member, parents first, and returns which it reached. It may miss a
  /// process that forks meanwhile, so repeat a kill until empty(). Other signals may miss members
  /// if a look at all processes takes more than a second.
  enum class Members { all, outside_our_group };
  Reached signal(int number, Members which = Members::all) const;
  /// Whether a process, alive or zombie, is a member.
  [[nodiscard]] bool is_member(pid_t pid) const;
  /// Repeats SIGKILL to this process's own children without a pause, until no new child appears
  /// (true) or a moment is over: faster than any process can fork and exit. Call only if all
  /// children are members. Reaps ended ones and passes them to `on_change`.
  static bool kill_children(const std::function<void(const Change&)>& on_change);
  /// Sends SIGCONT to stopped members only.
  Reached resume() const;
  /// Whether no member is left, not even a zombie, and the look was complete. Call after reaping.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool is_inherited() const { return guardian_ == 0 && since_ != 0; }
  [[nodiscard]] bool is_disbanded() const { return guardian_ < 0; }
  [[nodiscard]] pid_t root() const;
  [[nodiscard]] std::vector<pid_t> strangers(const std::vector<Process>& all) const;
  /// The members seen by then.
  [[nodiscard]] std::vector<Process> members(Look& look, base::Deadline until,
                                             const std::vector<Process>& hidden) const;
  [[nodiscard]] std::vector<Process> members_at_hand(Look& look) const;

  std::vector<pid_t> not_ours_;   // earlier children, sorted
  std::vector<pid_t> excluded_;   // rlock's own children outside of the job
  pid_t guardian_ = 0;            // while it is between us and the tree; -1 once it has left
  unsigned long long since_ = 0;  // when the first guardian started; 0 if there was none
};

/// As a process's start: in ticks of the kernel's clock since the host booted.
using Ticks = unsigned long long;
/// The time now, rounded down as a start is.
Ticks ticks_now();

// Pure, exposed for the unit tests.

/// Tells the processes that were there when a signal was sent from those that its handlers started:
/// the parent of such a one lives, and was signalled before the start; within one tick it counts as
/// that.
class Heirs {
 public:
  void note_signalled(const Process& process, Ticks now);
  /// Whether the process is one of them. Ask for parents before children.
  bool take(const Process& process);

 private:
  std::map<pid_t, Ticks> signalled_;
  std::set<pid_t> heirs_;
};

/// The processes of `all` that descend from `root`, parents before children, except its children in
/// `not_ours` (sorted) and their descendants.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                 const std::vector<pid_t>& not_ours);

}  // namespace os
