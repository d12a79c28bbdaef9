// rlock -k KEY COMMAND: what its options mean, and the job under its locks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/claim_options.hpp"
#include "cmd/status_file.hpp"
#include "hold/held_locks.hpp"
#include "hold/job_policy.hpp"
#include "os/signals.hpp"

namespace cmd {

/// The options of a run, resolved.
struct RunPlan {
  ClaimPlan lock;
  base::Millis grace;
  hold::OnLost on_lost;
  base::Millis min_hold;
  std::optional<base::Millis> max_hold;
  bool wait_all;
  bool reentrant;
  std::optional<std::string> status_file;
  std::vector<std::string> command;
};

/// Throws UsageError.
RunPlan resolve_run_plan(const Settings& settings, const std::vector<std::string>& operands);

/// Runs the plan's command under the leases of `record`, keeps `locks` meanwhile and gives them
/// back (there are none where a run around this one has them); returns the exit code and notes in
/// `record` what became of it.
int run_job(const RunPlan& plan, hold::HeldLocks locks, os::Signals& signals, RunRecord& record);

}  // namespace cmd
