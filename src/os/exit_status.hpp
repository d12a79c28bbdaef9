// How a process ended, as a shell would say it.
#pragma once

#include <sys/wait.h>

namespace os {

/// Wraps a wait status of a process that has ended.
class ExitStatus {
 public:
  explicit ExitStatus(int wait_status) : status_{wait_status} {}

  [[nodiscard]] bool signalled() const { return WIFSIGNALED(status_); }
  /// The signal it died of; only if signalled().
  [[nodiscard]] int signal() const { return WTERMSIG(status_); }
  /// Its own exit code, or 128+N if it died of signal N.
  [[nodiscard]] int code() const {
    return signalled() ? signal_code(signal()) : WEXITSTATUS(status_);
  }

  static int signal_code(int number) { return 128 + number; }

 private:
  int status_;
};

}  // namespace os
