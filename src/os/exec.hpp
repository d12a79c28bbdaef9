// What execve(2) asks of a program, beside that it is there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace os {

/// The bytes that one argument or variable may have, its end included.
std::size_t longest_string_of_program();
/// The bytes that all arguments and variables together may have, their ends and a pointer to each
/// included.
std::size_t longest_strings_of_program();

/// What execvp(3) finds as `command`: of a script the interpreter behind "#!", of a program in ELF
/// its loader, if that does not exist. Nothing if no such program is found, or it lacks nothing.
std::optional<std::string> missing_interpreter(const std::string& command);

}  // namespace os
