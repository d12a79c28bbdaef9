// SIGPIPE in a process that is not ours.
#pragma once

#include <csignal>

namespace os {

/// While it exists, a failed write of the calling thread yields an error and no SIGPIPE, whatever
/// the process does with that signal (Butenhof, comp.programming.threads: block, and take what is
/// pending). A SIGPIPE that was sent to the thread before stays pending.
class NoSigpipe {
 public:
  NoSigpipe();
  ~NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t before_;
  bool was_pending_;
};

}  // namespace os
