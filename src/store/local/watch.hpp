// Watches the processes that a waiter waits for.
#pragma once

#include <optional>
#include <vector>

#include "store/local/lock_dir.hpp"
#include "store/rules/lock_state.hpp"

namespace store::local {

/// The first waiter watches the holders, every other waiter the one before it, so that a crash
/// wakes one process and not all. A release is posted to the pipe.
class PredecessorWatch {
 public:
  /// Begins to watch for the waiter with that ticket; the directory must be locked. Returns when to
  /// look again if the kernel cannot report the end of a process.
  std::optional<Millis> begin(LockDir& lock, std::uint64_t ticket);
  void end();
  /// Waits for a post, the end of a watched process, or the limit. `done` gets our slot if a post
  /// says that it is done.
  Turn wait(os::NamedPipe& pipe, const CallLimit& limit,
            std::optional<rules::SlotState>& done) const;

 private:
  std::optional<Millis> watch(const LockDir& lock, const QueueEntry& other);

  std::vector<os::Fd> watched_;
  Deadline look_at_ = Deadline::never();
  bool asked_ = false;  // the holders of the gate, whether they answer
};

}  // namespace store::local
