// From wanting a lock to holding it, or to knowing why not.
#pragma once

#include <variant>

#include "hold/held.hpp"
#include "os/signals.hpp"

namespace hold {

/// It is somebody else's and our patience ended.
struct GaveUp {
  std::optional<store::Occupant> occupant;
  std::size_t others;  // waiting (before us, if we queued)
};
/// A signal came that would have ended us; we are out of the queue.
struct Interrupted {
  int signal;
};

using Acquisition = std::variant<Held, GaveUp, Interrupted, store::Fault>;

struct AcquirePlan {
  store::Claim claim;
  base::Millis wait;   // 0: one attempt; Millis::max(): forever
  base::Millis grace;  // of the validity this much must be left, or the job could not be stopped
};

/// Takes the store and gives it back inside Held. Whatever else happens, nothing of ours is left
/// behind on a server that answers: a silent fault may have been a grant, so it is withdrawn.
/// Main thread; no other thread exists yet.
Acquisition acquire(std::unique_ptr<store::LockStore> store, const AcquirePlan& plan,
                    os::Signals& signals);

}  // namespace hold
