// The standard descriptors: stdin, stdout, stderr.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace os {

/// Where stdin, stdout or stderr is closed, opens /dev/null in its place, so that no descriptor of
/// ours gets its number; writing to such a stdout fails. Close-on-exec: the job finds them as we
/// did. Before anything is opened. Throws std::system_error where there is no /dev/null.
void occupy_standard_descriptors();

bool stdin_is_terminal();
bool stderr_is_terminal();
bool stdout_is_terminal();
struct TerminalSize {
  std::size_t rows;
  std::size_t columns;
};
/// Of the terminal at stdout; nothing if there is none, or it does not say.
std::optional<TerminalSize> stdout_size();
/// How many columns the terminal at stderr has; nothing if there is none, or it does not say.
std::optional<std::size_t> stderr_columns();
/// False for a background job of the terminal at stderr, whose foreground belongs to others.
bool stderr_is_ours();

/// Writes to stderr without waiting for a reader, and says how many bytes were taken. The
/// descriptor keeps its mode: the job shares it, and not every program can live with O_NONBLOCK.
/// Bytes that no reader will ever take count as taken. Any thread.
std::size_t write_stderr_at_once(std::string_view text);

}  // namespace os
