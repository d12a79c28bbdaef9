// The witness: a small process that receives the signals sent to rlock's whole process group.
#pragma once

#include <sys/types.h>

#include <optional>

#include "os/guardian_line.hpp"

namespace os {

class Signals;

/// A signal to rlock does not reveal whether it was sent to rlock alone or to its group. The kernel
/// queues a group's signal for all members at once, so if this other member has it too, it was for
/// the group. The witness blocks every signal, reports each that arrives, and does nothing else. It
/// has another name and command line than rlock, so that signals meant for rlock miss it, keeps no
/// descriptor of rlock's, and ends with rlock. reap() does not see it.
///
/// Starting it costs as much as a short job, so it starts later. Main thread.
class Witness {
 public:
  Witness() = default;  // absent
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness();

  /// Call before any other thread of ours exists. If it cannot be started, it stays absent.
  void start(Signals& signals);
  /// The witness receives nothing from now on, and will end soon.
  void dismiss();

  /// 0 if absent.
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_present() const { return pid_ != 0 && !hung_up_; }
  /// Asks for an answer with that number once it has reported all signals so far.
  void ask(int question);
  /// The next report, `signalled` or `answer`. Never blocks.
  std::optional<Report> take();
  /// Readable while there is a report; -1 if none can come.
  [[nodiscard]] int descriptor() const { return is_present() ? line_.descriptor() : -1; }

 private:
  GuardianLine line_;
  pid_t pid_ = 0;
  bool hung_up_ = false;
};

}  // namespace os
