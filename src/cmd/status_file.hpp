// What became of a run, for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/plan.hpp"
#include "hold/acquire.hpp"
#include "os/child.hpp"

namespace cmd {

/// Filled in while a run goes on.
struct RunRecord {
  enum class Outcome {
    ran,
    not_started,  // the command could not be run
    busy,
    mismatch,
    lost,
    stopped,  // cancelled or superseded
    interrupted,
    failed
  };
  Outcome outcome = Outcome::failed;
  base::Moment began = base::now();
  std::optional<base::Moment> granted;
  std::optional<base::Moment> ended;  // the job
  std::vector<store::Lease> leases;
  std::optional<os::ExitStatus> job;
  std::optional<std::string> lost_why;
  std::optional<std::string> why;  // any other trouble
};

/// The record's outcome where the lock was not had.
void note(RunRecord& record, const hold::NotAcquired& not_had);

/// Writes it to the plan's --status-file, if there is one; a file that cannot be written is said
/// and changes nothing else.
void save(const RunRecord& record, const RunPlan& plan, int exit_code);

}  // namespace cmd
