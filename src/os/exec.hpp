// The requirements of execve(2) on a program, besides its existence.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace os {

/// The longest argument or variable in bytes, terminator included.
std::size_t longest_string_of_program();
/// The most bytes of all arguments and variables together, each with its terminator and a pointer.
std::size_t longest_strings_of_program();

/// Why execvp(3) would find no program to execute: ENOENT, or EACCES where a file is there that
/// may not be executed. 0: it finds one.
int why_not_found(const std::string& command);

/// For what execvp(3) finds as `command`: a script's interpreter ("#!") or an ELF program's loader,
/// if that does not exist. Nothing if no such program is found or nothing is missing.
std::optional<std::string> missing_interpreter(const std::string& command);

}  // namespace os
