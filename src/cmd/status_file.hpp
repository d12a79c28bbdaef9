// What became of a run, for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  std::vector<store::LockName> keys;  // that were wanted, sorted
  Outcome outcome = Outcome::failed;
  base::Moment began = base::now();
  std::optional<base::Moment> granted{};
  std::optional<base::Moment> ended{};  // the job
  std::vector<store::Lease> leases{};   // of the first of the keys
  std::optional<os::ExitStatus> job{};
  std::optional<std::string> lost_why{};
  std::optional<std::string> why{};  // any other trouble
};

/// The record's outcome where the locks were not acquired.
void note(RunRecord& record, const hold::NotAcquired& not_acquired);

/// The text of the status file.
std::string status_text(const RunRecord& record, int exit_code, base::Moment now);

/// Writes it to `file`, if there is one; a file that cannot be written is said and changes nothing
/// else.
void save(const RunRecord& record, const std::optional<std::string>& file, int exit_code);

}  // namespace cmd
