#include "store/rules/granted.hpp"

#include <fmt/format.h>

namespace store::rules {

Lease lease_of(const Grant& grant, const Claim& claim, Moment asked_at, Deadline valid_until) {
  Lease lease{claim.name,           claim.token,          claim.ttl,
              valid_until,          grant.fence,          asked_at,
              grant.number.attempt, grant.number.failures};
  lease.permit = grant.permit;
  lease.resource = claim.mode.name_of(grant.permit);
  return lease;
}

Fault fault_of(const NoHigherFence& none) {
  return {Fault::Kind::misconfigured,
          fmt::format("the fence {} leaves no room for a higher one", none.fence)};
}

SlotDone answer_of(const SlotState& slot, Millis ended_ago) {
  return {Token::foreign(slot.token), slot.fence, slot.runs.attempt, slot.outcome, ended_ago};
}

}  // namespace store::rules
