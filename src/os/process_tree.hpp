// The job and everything that descends from it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace os {

/// Makes this process a child subreaper: a descendant whose parent dies becomes our child instead
/// of init's, so nothing that the job started, setsid'ed daemons included, can leave the tree.
/// What was our child before (a shell that exec'ed rlock may have left some) does not belong to it.
/// Needs /proc; without it only direct children are known by their exit. Main thread.
class ProcessTree {
 public:
  ProcessTree();

  /// Sends `number` to every member, parents first, and says how many were seen; one that forks
  /// meanwhile may be missed, so a kill is repeated until empty().
  std::size_t signal(int number) const;
  /// SIGCONT to the members that are stopped, and to no other.
  void resume() const;
  /// True when no member is left, not even a zombie. Call it after reaping.
  [[nodiscard]] bool empty() const;

 private:
  std::vector<pid_t> not_ours_;  // children from before; sorted
};

// What of it is pure, for the unit tests.

struct Process {
  pid_t pid;
  pid_t parent;
  char state;                // R S D T Z ... of proc(5)
  unsigned long long start;  // with the pid, the process's identity
};

/// From the text of /proc/PID/stat. The name in it may hold anything.
std::optional<Process> process_in(std::string_view stat);
/// The numbers in a file such as /proc/1/task/1/children, "4 8 15 ".
std::vector<pid_t> pids_in(std::string_view children);
/// The processes of `all` that descend from `root`, parents before children, but not its children
/// in `not_ours` (sorted), nor their descendants.
std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                 const std::vector<pid_t>& not_ours);

}  // namespace os
