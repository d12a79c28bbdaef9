// Acquisition of one or several locks, or the reason why it failed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hold/held_locks.hpp"
#include "hold/interruption.hpp"
#include "hold/progress.hpp"

namespace hold {

/// Another run holds the lock.
struct GaveUp {
  // crowded: too many waiters already; nested: an enclosing run holds it
  enum class Why { busy, timed_out, crowded, nested };
  store::LockName name;
  std::optional<store::Holder> holder;
  std::size_t others;  // waiters (before us, if we queued)
  Why why;
};
/// Another user or run dismissed us while we waited.
struct Dismissed {
  store::LockName name;
  std::string why;
};
/// Others use the key in an incompatible mode.
struct Incompatible {
  store::LockName name;
  store::ModeConflict conflict;
};
/// A run for the slot has already ended, so there is nothing to do.
struct AlreadyDone {
  store::LockName name;
  store::SlotDone done;
};
/// The caller ended the wait, and we have left the queue.
struct Interrupted {
  int signal;  // that ended it; 0: none did
};
/// Why a lock was not acquired; nothing of the claim is left on a server that answers.
using NotAcquired =
    std::variant<GaveUp, Dismissed, Incompatible, AlreadyDone, Interrupted, store::Fault>;

struct Wanted {
  std::vector<store::Claim> claims;  // sorted by name, the order in which every run acquires them
  base::Millis wait;                 // 0: one attempt; Millis::max(): forever
  base::Millis grace;
  base::Millis longest_answer;        // a server that takes longer for one counts as silent
  std::vector<store::Token> outer{};  // tokens of enclosing runs: we would wait for ourselves
  bool sheds_memory = true;           // in a long wait: only if the whole process waits
};

using Acquisition = std::variant<HeldLocks, NotAcquired>;

/// Acquires the locks one after the other, each through a store of its own, and refreshes those it
/// has while it waits for the next. Every run uses the same order, so no two runs can wait for each
/// other (Havender 1968). If it loses one meanwhile, it releases all and starts again, for as long
/// as the wait lasts. Main thread; no other thread exists yet.
Acquisition acquire(const std::function<std::unique_ptr<store::LockStore>()>& open_store,
                    const Wanted& wanted, Interruption& interruption);

}  // namespace hold
