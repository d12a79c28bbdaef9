// Locks as tables for people and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "store/lock_admin.hpp"

namespace cmd {

/// "key …", "state …", one fact a line, and who waits. Safe for a terminal.
std::string as_table(const store::LockReport& report);
/// One lock a line, under a heading.
std::string as_table(const std::vector<store::LockReport>& reports);

/// One object; pure ASCII, so it is safe for a terminal as well.
std::string as_json(const store::LockReport& report);
/// {"locks": [...]}
std::string as_json(const std::vector<store::LockReport>& reports);

}  // namespace cmd
