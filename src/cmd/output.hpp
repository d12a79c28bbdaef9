// stdout, for the commands that answer there.
#pragma once

#include <string_view>

namespace cmd {

/// Before anything else: where stdout or stderr is closed, what we write there must not reach what
/// we open later.
void secure_output();

/// Writes all of it. Throws std::system_error if that fails (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace cmd
