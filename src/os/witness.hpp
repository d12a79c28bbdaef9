// The witness: a small process that gets what is sent to rlock's whole process group.
#pragma once

#include <sys/types.h>

#include <optional>

#include "os/guardian_line.hpp"

namespace os {

class Signals;

/// A signal to rlock does not tell whether it was sent to rlock alone or to its group. The kernel
/// queues a signal to a group for every member in one go, so if this other member of the group has
/// it too, it was for the group. The witness blocks every signal, reports each that comes, and does
/// nothing else. It has another name and command line than rlock, so that what is meant for rlock
/// does not hit it, keeps no descriptor of rlock's, and ends with rlock. reap() does not see it.
///
/// Starting it costs as much as a short job takes, so that it starts later. Main thread.
class Witness {
 public:
  Witness() = default;  // absent
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness();

  /// Before any other thread of ours exists. If it cannot be started, it stays absent.
  void start(Signals& signals);
  /// It hears nothing from now on, and will have ended soon.
  void dismiss();

  /// 0 where there is none.
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_present() const { return pid_ != 0 && !hung_up_; }
  /// Asks for an answer with that number once it has reported all that it got by now.
  void ask(int question);
  /// The next report, `signalled` or `answer`. Never blocks.
  std::optional<Report> take();
  /// Readable while there is a report; -1 where none can come.
  [[nodiscard]] int descriptor() const { return is_present() ? line_.descriptor() : -1; }

 private:
  GuardianLine line_;
  pid_t pid_ = 0;
  bool hung_up_ = false;
};

}  // namespace os
