// What the guardian of a job does, in a process of its own.
#pragma once

#include <optional>

#include "os/child.hpp"
#include "os/guard_line.hpp"
#include "os/process_tree.hpp"
#include "os/signals.hpp"

namespace os {

/// The job's parent, and the subreaper of all that descends from it. It starts the job, reports
/// what becomes of it, and kills the whole tree when rlock dies, whatever it dies of, or lets the
/// time pass that it has set itself. It is not found where rlock is looked for: it has another
/// name, command line, session and process group, and is deaf to all that can be blocked.
///
/// It keeps every descriptor of rlock's as long as it has a tree to guard. So a lock that the
/// kernel frees when its holder is gone is free when the job is gone, too.
class Guard {
 public:
  /// In a fresh fork, with one thread. `until`: as Guardian's.
  Guard(GuardLine line, Signals& signals, pid_t rlock, base::Deadline until)
      : line_{std::move(line)}, signals_{signals}, rlock_{rlock}, until_{until} {}

  /// To the end of the process.
  [[noreturn]] void stand(const Program& program);

 private:
  void start_job(const Program& program);
  void watch();
  void take_orders();
  void look_at_children();
  [[noreturn]] void leave(const Report& last);
  [[nodiscard]] bool must_kill() const { return alone_ || until_.passed(base::now()); }
  [[nodiscard]] base::Deadline due() const;
  void kill_tree();

  GuardLine line_;
  Signals& signals_;
  ProcessTree tree_;
  pid_t rlock_;
  base::Deadline until_;
  pid_t job_ = 0;
  std::optional<Report> end_{};  // of the job's process
  bool alone_ = false;           // rlock is gone
  bool told_ = false;
};

}  // namespace os
