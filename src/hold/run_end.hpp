// How a run ended: what the server is to remember of it, and what that means for its slot. Pure.
#pragma once

#include <optional>

#include "hold/job_policy.hpp"
#include "store/lock_store.hpp"

namespace hold {

/// Of a run whose job ended so, and was stopped for that if it was.
store::RunEnd run_end(os::ExitStatus status, const std::optional<StoppedFor>& stopped_for);

/// Whoever stops the nightly job does not want a spare to begin it again; a host that goes down
/// does. `told_to_end`: by a signal to us, which the job had as well.
store::Parting::SlotEnd slot_end(const store::RunEnd& end, bool told_to_end);

}  // namespace hold
