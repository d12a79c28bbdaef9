// All the locks of a run, or none.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "hold/claimant.hpp"

namespace hold {

struct AcquirePlan {
  std::vector<store::Claim> claims;  // in the order in which everybody takes them: sorted by name
  base::Millis wait;                 // 0: one attempt; Millis::max(): forever
  base::Millis grace;
};

using Acquisition = std::variant<HeldLocks, NotAcquired>;

/// Takes the locks one after the other, each through a store of its own, and refreshes those it has
/// while it waits for the next. Because everybody takes them in the same order, no two runs can
/// wait for each other (Havender 1968). Should one be lost meanwhile, all are given back and it
/// begins anew, as long as the wait lasts. Main thread; no other thread exists yet.
Acquisition acquire(const std::function<std::unique_ptr<store::LockStore>()>& open_store,
                    const AcquirePlan& plan, os::Signals& signals);

}  // namespace hold
