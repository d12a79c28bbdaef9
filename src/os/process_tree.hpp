// The job and everything that descends from it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "os/child.hpp"

namespace os {

/// What proc(5) tells of a process.
struct Process {
  pid_t pid;
  pid_t parent;
  char state;                // R S D T Z ... of proc(5)
  unsigned long long start;  // with the pid, the process's identity
};

/// Throws std::system_error unless /proc shows the processes as we see them: without it, or with
/// that of another PID namespace, no descendant can be found.
void require_proc();

/// Whether there is a process of that number, be it a zombie.
bool exists(pid_t pid);

/// Whether it is one that signals all processes of a service one after the other: process 1,
/// systemd for a user, or (0) one outside of our PID namespace.
bool is_service_manager(pid_t pid);

/// While it lives, its thread goes before others, if it may (CAP_SYS_NICE): each process of a storm
/// of forks has as many turns as we, and we have to outrun them all.
class Urgency {
 public:
  Urgency();
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;
  ~Urgency();

 private:
  int usual_;  // the nice value before
};

/// Makes this process a child subreaper: a descendant whose parent dies becomes our child instead
/// of init's, so nothing that the job started, setsid'ed daemons included, can leave the tree.
///
/// Children that we had before do not belong to it (a shell that exec'ed rlock may have left some),
/// nor do those that come to us later from elsewhere: process 1 of a container is given every
/// orphan. Main thread.
class ProcessTree {
 public:
  /// Below this process.
  ProcessTree();

  /// From now on the tree is what is below our child `guardian`, itself a subreaper, without it.
  void be_below(pid_t guardian);
  /// A child of ours that does not belong to it, until we wait for it.
  void exclude(pid_t child);
  /// The guardian is gone. Its orphans came to us: those of our children that started after it.
  void inherit();

  /// Sends `number` to every member, parents first, and says how many were seen. One that forks
  /// meanwhile may be missed, so a kill is repeated until empty(). Any other signal may miss some
  /// where it takes more than a second to look at all processes.
  enum class Members { all, outside_our_group };
  std::size_t signal(int number, Members which = Members::all) const;
  /// Whether a process that lives, or is a zombie, belongs to it.
  [[nodiscard]] bool is_member(pid_t pid) const;
  /// SIGKILL to this process's own children, again and again without a pause, until no new one
  /// appears (true) or a moment is over: faster than what forks and exits as fast as it can. Only
  /// where all children are members. Those that ended are reaped, and `on_change` is told.
  static bool kill_children(const std::function<void(const Change&)>& on_change);
  /// SIGCONT to the members that are stopped, and to no other.
  void resume() const;
  /// True when no member is left, not even a zombie. Call it after reaping.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool is_inherited() const { return guardian_ == 0 && since_ != 0; }
  [[nodiscard]] pid_t root() const;
  [[nodiscard]] std::vector<pid_t> strangers(const std::vector<Process>& all) const;
  /// Those seen by then.
  [[nodiscard]] std::vector<Process> members(base::Deadline until) const;
  [[nodiscard]] std::vector<Process> members_at_hand() const;

  std::vector<pid_t> not_ours_;   // children from before; sorted
  pid_t guardian_ = 0;            // while it is between us and the tree
  unsigned long long since_ = 0;  // when it started; 0 if there never was one
};

// What of it is pure, for the unit tests.

/// From the text of /proc/PID/stat. The name in it may hold anything.
std::optional<Process> process_in(std::string_view stat);
/// The numbers in a file such as /proc/1/task/1/children, "4 8 15 ".
std::vector<pid_t> pids_in(std::string_view children);
/// The processes of `all` that descend from `root`, parents before children, but not its children
/// in `not_ours` (sorted), nor their descendants.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                 const std::vector<pid_t>& not_ours);

}  // namespace os
