// The job and everything that descends from it.
#pragma once

#include <sys/types.h>

#include <cstddef>
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

}  // namespace os
