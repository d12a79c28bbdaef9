// The job, from the grant to the release.
#pragma once

#include "cmd/status_file.hpp"
#include "hold/upkeep.hpp"

namespace cmd {

/// Runs the plan's command under `locks` (none: under those of a run around us), keeps them
/// meanwhile and gives them back; returns the exit code and notes in `record` what became of it.
int run_job(const RunPlan& plan, hold::Upkeep locks, os::Signals& signals, RunRecord& record);

}  // namespace cmd
