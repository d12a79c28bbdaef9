// The commands of rlock: each resolves its options to a plan, and acts on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/settings.hpp"

namespace cmd {

/// The action of a command whose options are resolved; returns the exit code.
using Act = std::function<int()>;

struct Command {
  const char* name;     // the word that selects it; "" for the run, which needs none
  Commands bit;         // in the column of the option table
  const char* usage;    // what follows "rlock" in the help's first line
  const char* purpose;  // one line
  const char* notes;    // the end of its help: what it does, and examples
  /// Throws UsageError; touches nothing.
  Act (*resolve)(const Settings&, const std::vector<std::string>& operands);
};

extern const Command run_command, inspect_command, list_command, cancel_command,
    force_release_command, acquire_command, refresh_command, release_command, check_command,
    doctor_command, log_command, overdue_command, metrics_command, schema_command;

/// The label of a lock of `acquire`, unless the user gives another.
inline constexpr std::string_view acquire_label = "acquire";

/// The output of `acquire --export` after a failure. An empty one would let `eval` succeed, and the
/// script go on without the lock.
std::string failure_for_eval(int code);

}  // namespace cmd
