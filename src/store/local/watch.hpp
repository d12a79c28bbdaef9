// What a waiter watches while it waits: the end of who is before it.
#pragma once

#include <optional>
#include <vector>

#include "store/local/lock_dir.hpp"
#include "store/rules/lock_state.hpp"

namespace store::local {

/// The first one watches the holders, every other one the waiter before it, so that a crash wakes
/// one process and no herd. An orderly release is posted to the pipes.
class PredecessorWatch {
 public:
  /// Begins to watch, with the directory locked, for the waiter of that ticket. Returns when to
  /// look again if the kernel will not tell.
  std::optional<Millis> begin(LockDir& lock, std::uint64_t ticket);
  void end();
  /// Until something happened, or limit ended. `done`: here is put what we are told of our slot.
  Turn wait(os::NamedPipe& pipe, const CallLimit& limit,
            std::optional<rules::SlotState>& done) const;

 private:
  std::optional<Millis> watch(const LockDir& lock, const QueueEntry& other);

  std::vector<os::Fd> watched_;
  Deadline look_at_ = Deadline::never();
  bool asked_ = false;  // who holds the gate, whether they answer
};

}  // namespace store::local
