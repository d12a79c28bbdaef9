// What an answer of the rules is to the client, where every store says the same.
#pragma once

#include "store/rules/decide.hpp"

namespace store::rules {

/// The lease of a grant that was asked for then.
Lease lease_of(const Grant& grant, const Claim& claim, Moment asked_at, Deadline valid_until);
Fault fault_of(const NoHigherFence& none);

}  // namespace store::rules
