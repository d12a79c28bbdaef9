// Converts answers of the rules to those of a store.
#pragma once

#include "store/rules/decide.hpp"

namespace store::rules {

/// The lease of a grant requested at `asked_at`.
Lease lease_of(const Grant& grant, const Claim& claim, Moment asked_at, Deadline valid_until);
Fault fault_of(const NoHigherFence& none);
/// `slot` must be done.
SlotDone answer_of(const SlotState& slot, Millis ended_ago);

}  // namespace store::rules
