// The standard descriptors: stdin, stdout, stderr.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace os {

/// Opens /dev/null in place of a closed stdin, stdout or stderr, so that no descriptor of ours gets
/// its number; writing to such a stdout fails. Close-on-exec: the job finds them closed, as we did.
/// Call before anything is opened. Throws std::system_error if there is no /dev/null.
void occupy_standard_descriptors();

bool stdin_is_terminal();
bool stderr_is_terminal();
bool stdout_is_terminal();
struct TerminalSize {
  std::size_t rows;
  std::size_t columns;
};
/// The size of the terminal at stdout; nothing if there is none, or it does not say.
std::optional<TerminalSize> stdout_size();
/// The columns of the terminal at stderr; nothing if there is none, or it does not say.
std::optional<std::size_t> stderr_columns();
/// False if the terminal at stderr has another process group in its foreground.
bool stderr_is_ours();

/// Writes to stderr without waiting for a reader, and returns how many bytes were taken. The
/// descriptor keeps its mode: the job shares it, and not every program can handle O_NONBLOCK. Bytes
/// that no reader will ever take count as taken. Any thread.
std::size_t write_stderr_at_once(std::string_view text);

}  // namespace os
