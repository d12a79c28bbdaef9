// What rlock says about itself: one line on stderr each, prefixed "rlock: ".
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace base::log {

enum class Level { quiet, normal, verbose };

/// Set once, before any thread.
void set_level(Level level);
Level level();

/// Writes one line with a single write, so lines of two threads never mix; a status line on the
/// terminal is wiped first. What should not reach a terminal is made printable, if the caller has
/// not done so. Any thread.
void line(std::string_view text);

/// While there is one, no line waits for a reader of stderr, which may be a pipe that is full and
/// stays so: bytes that are not taken at once are written with the next line, or at the end, which
/// waits. Main thread.
class NonBlockingStderr {
 public:
  /// Writes to stderr without waiting, and says how much was taken.
  using AtOnce = std::size_t (*)(std::string_view text);
  explicit NonBlockingStderr(AtOnce at_once);
  ~NonBlockingStderr();
  NonBlockingStderr(const NonBlockingStderr&) = delete;
  NonBlockingStderr& operator=(const NonBlockingStderr&) = delete;
};

/// Shows `text` in place of the last status line (no newline). Only for terminals; main thread.
void status(std::string_view text);
void clear_status();

/// An error that ends what the user asked for: said even when quiet.
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(fmt::format(format, std::forward<Args>(args)...));
}

/// What people want to know unless they said --quiet.
template <class... Args>
void notice(fmt::format_string<Args...> format, Args&&... args) {
  if (level() != Level::quiet) line(fmt::format(format, std::forward<Args>(args)...));
}

/// What they asked for with --verbose.
template <class... Args>
void detail(fmt::format_string<Args...> format, Args&&... args) {
  if (level() == Level::verbose) line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace base::log
