// From wanting locks to holding all of them, or to knowing why not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hold/held_locks.hpp"
#include "hold/progress.hpp"
#include "os/signals.hpp"

namespace hold {

/// It is somebody else's.
struct GaveUp {
  // crowded: too many wait already; nested: a run that we are part of holds it
  enum class Why { busy, timed_out, crowded, nested };
  store::LockName name;
  std::optional<store::Holder> holder;
  std::size_t others;  // waiting (before us, if we queued)
  Why why;
};
/// While we waited, somebody told us not to.
struct Dismissed {
  store::LockName name;
  std::string why;
};
/// Somebody uses the key in a way that does not go together with ours.
struct Incompatible {
  store::LockName name;
  store::ModeConflict conflict;
};
/// There is nothing left to do.
struct AlreadyDone {
  store::LockName name;
  store::SlotDone done;
};
/// A signal came that would have ended us; we are out of the queue.
struct Interrupted {
  int signal;
};
/// Why a lock was not had; nothing of the claim is left on a server that answers.
using NotAcquired =
    std::variant<GaveUp, Dismissed, Incompatible, AlreadyDone, Interrupted, store::Fault>;

struct Wanted {
  std::vector<store::Claim> claims;  // in the order in which everybody takes them: sorted by name
  base::Millis wait;                 // 0: one attempt; Millis::max(): forever
  base::Millis grace;
  base::Millis longest_answer;  // a server that takes longer for one is as good as silent
  std::vector<store::Token>
      outer{};  // of the runs that we are part of: we would wait for ourselves
};

using Acquisition = std::variant<HeldLocks, NotAcquired>;

/// Takes the locks one after the other, each through a store of its own, and refreshes those it has
/// while it waits for the next. Because everybody takes them in the same order, no two runs can
/// wait for each other (Havender 1968). Should one be lost meanwhile, all are given back and it
/// begins anew, as long as the wait lasts. Main thread; no other thread exists yet.
Acquisition acquire(const std::function<std::unique_ptr<store::LockStore>()>& open_store,
                    const Wanted& wanted, os::Signals& signals);

}  // namespace hold
