// The job, from the grant to the release.
#pragma once

#include "cmd/status_file.hpp"
#include "hold/upkeep.hpp"

namespace cmd {

/// Runs the plan's command under the leases of `record`, keeps `locks` meanwhile and gives them
/// back (there are none where a run around us has them); returns the exit code and notes what
/// became of it.
int run_job(const RunPlan& plan, hold::HeldLocks locks, os::Signals& signals, RunRecord& record);

}  // namespace cmd
