// stdout, for the commands that answer there.
#pragma once

#include <string_view>

namespace cmd {

/// Writes all of it. Throws std::system_error if that fails (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace cmd
