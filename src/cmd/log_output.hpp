// How much rlock says on stderr, and in which form: --quiet, --verbose, --log-json, the journal.
#pragma once

#include <string>
#include <vector>

#include "base/log.hpp"
#include "cmd/settings.hpp"
#include "store/names.hpp"

namespace cmd {

/// Before anything is said. Throws UsageError.
void set_up_log(const Settings& settings);

/// From now on each line is one object.
void log_as_json();

/// Each line for programs has these as "key", with a newline between several.
void set_log_keys(const std::vector<store::LockName>& keys);

/// One object in one line, ASCII only, newline included.
std::string as_json_line(const base::log::Record& record);
/// As the journal wants it.
std::string as_journal_entry(const base::log::Record& record);

}  // namespace cmd
