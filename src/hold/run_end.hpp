// The end of a run: the record for the server, and what it means for the slot. Pure.
#pragma once

#include <optional>

#include "hold/job_policy.hpp"
#include "store/lock_store.hpp"

namespace hold {

/// `stopped_for` is why we stopped the job, if we did.
store::RunEnd run_end(os::ExitStatus status, const std::optional<StoppedFor>& stopped_for);

/// A person who stops the nightly job does not want a spare to start it again; a host that goes
/// down does. `told_to_end`: by a signal to us that the job also received.
store::Parting::SlotEnd slot_end(const store::RunEnd& end, bool told_to_end);

}  // namespace hold
