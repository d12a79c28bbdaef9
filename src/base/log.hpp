// What rlock says about itself, on stderr: one line each, prefixed "rlock: ", or as a program wants
// it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace base::log {

/// How much is said.
enum class Level { quiet, normal, verbose, trace };

/// What a line is, and from which level on it is said.
enum class Severity {
  error,   // it ends what the user asked for: said even when quiet
  notice,  // people want to know it, unless they said --quiet
  detail,  // what they asked for with --verbose
  trace    // what they asked for with -vv: every question to a server, and its answer
};

/// Set once, before any thread.
void set_level(Level level);
Level level();
bool is_said(Severity severity);

/// For programs: beside the text, what it tells.
struct Field {
  std::string_view name;  // lower case, with underscores; a length of time ends in _ms
  std::variant<std::string, std::int64_t> value;
};

/// One line, before it is written.
struct Record {
  Severity severity;
  std::string_view event;  // what has happened, in a word or two: "granted", "timed-out"
  std::string_view text;
  std::vector<Field> fields;  // those of set_common_fields(), too
};

/// Writes a record elsewhere, or makes the line of it that stderr gets, newline included; nothing:
/// it is written. Any thread. May be asked for nothing else than that.
using Writer = std::optional<std::string> (*)(const Record& record);
/// In place of "rlock: TEXT". Set once, before any thread; nullptr for that one.
void set_writer(Writer writer);
/// Whether there is none, so that a status line on a terminal makes sense.
bool is_for_people();
/// What each record has: the key. Set once, before any thread.
void set_common_fields(std::vector<Field> fields);

/// A line under way, with what it tells programs. Any thread.
///
///     Event{"granted"}.with("fence", fence).detail("got '{}', fence {}", key, fence);
class Event {
 public:
  explicit Event(std::string_view name) : name_{name} {}

  Event& with(std::string_view name, std::string_view value) {
    fields_.push_back({name, std::string{value}});
    return *this;
  }
  Event& with(std::string_view name, std::int64_t value) {
    fields_.push_back({name, value});
    return *this;
  }

  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    say(Severity::error, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void notice(fmt::format_string<Args...> format, Args&&... args) {
    if (is_said(Severity::notice)) {
      say(Severity::notice, fmt::format(format, std::forward<Args>(args)...));
    }
  }
  template <class... Args>
  void detail(fmt::format_string<Args...> format, Args&&... args) {
    if (is_said(Severity::detail)) {
      say(Severity::detail, fmt::format(format, std::forward<Args>(args)...));
    }
  }
  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) {
    if (is_said(Severity::trace)) {
      say(Severity::trace, fmt::format(format, std::forward<Args>(args)...));
    }
  }

 private:
  /// Writes the line with a single write, so lines of two threads never mix; a status line on the
  /// terminal is wiped first. What should not reach a terminal is made printable, if the caller has
  /// not done so.
  void say(Severity severity, std::string_view text);

  std::string_view name_;
  std::vector<Field> fields_;
};

/// The event of a line that has no name of its own.
inline constexpr std::string_view message = "message";

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

/// A line without fields, as of an Event.
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  Event{message}.error(format, std::forward<Args>(args)...);
}
template <class... Args>
void notice(fmt::format_string<Args...> format, Args&&... args) {
  Event{message}.notice(format, std::forward<Args>(args)...);
}
template <class... Args>
void detail(fmt::format_string<Args...> format, Args&&... args) {
  Event{message}.detail(format, std::forward<Args>(args)...);
}
template <class... Args>
void trace(fmt::format_string<Args...> format, Args&&... args) {
  Event{message}.trace(format, std::forward<Args>(args)...);
}

}  // namespace base::log
