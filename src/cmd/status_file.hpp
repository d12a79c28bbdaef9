// The outcome of a run, in a file for programs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hold/acquire.hpp"
#include "os/child.hpp"

namespace cmd {

/// Filled in while a run goes on.
struct RunRecord {
  using WallClock = std::chrono::system_clock;
  enum class Outcome {
    ran,
    not_started,  // the command could not be run
    busy,
    mismatch,
    lost,
    stopped,  // cancelled or superseded
    done,     // the slot, by another run
    interrupted,
    failed
  };
  std::vector<store::LockName> keys;  // that were wanted, sorted
  std::string server{};               // as it is shown: without a secret
  Outcome outcome = Outcome::failed;
  WallClock::time_point began_at = WallClock::now();
  base::Moment began = base::now();
  std::optional<base::Moment> granted{};
  std::optional<base::Moment> ended{};  // the job
  std::vector<store::Lease> leases{};   // of the first of the keys
  std::optional<os::ExitStatus> job{};
  std::optional<std::string> lost_why{};
  std::optional<std::string> why{};  // any other trouble
  std::optional<std::string> slot{};
  std::optional<store::SlotDone> done{};
};

/// The record's outcome where the locks were not acquired.
void note(RunRecord& record, const hold::NotAcquired& not_acquired);

/// The text of the status file.
std::string status_text(const RunRecord& record, int exit_code, base::Moment now);

/// Whether the text of an earlier status file is of a run that held its locks. A run that finds
/// them busy does not overwrite that, so that the file keeps the outcome of the last run.
bool is_of_a_run_with_locks(const std::string& text);

/// Writes it to `file`, if there is one, unless a better record is there already. Reports a
/// failure, which changes nothing else.
void save(const RunRecord& record, const std::optional<std::string>& file, int exit_code);

}  // namespace cmd
