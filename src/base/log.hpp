// rlock's messages on stderr: one line each, prefixed "rlock: ", or in a format for programs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace base::log {

/// The verbosity that the user chose.
enum class Level { quiet, normal, verbose, trace };

/// The kind of a line, which decides at which level it is shown.
enum class Severity {
  error,   // ends what the user asked for: shown even with --quiet
  notice,  // of interest to people, unless they gave --quiet
  detail,  // shown with --verbose
  trace    // shown with -vv: every request to a server, and its reply
};

/// Call once, before any thread exists.
void set_level(Level level);
Level level();
bool is_said(Severity severity);

/// One fact of an event, for programs.
struct Field {
  std::string_view name;  // lower case, with underscores; the name of a duration ends in _ms
  std::variant<std::string, std::int64_t> value;
};

/// One line, before it is written.
struct Record {
  Severity severity;
  std::string_view event;  // what happened, in a word or two: "granted", "timed-out"
  std::string_view text;
  std::vector<Field> fields;  // including those of set_common_fields()
};

/// Writes a record elsewhere and returns nothing, or returns the line for stderr, newline included.
/// Any thread may call it, so it must not log.
using Writer = std::optional<std::string> (*)(const Record& record);
/// Replaces the format "rlock: TEXT"; nullptr restores it. Call once, before any thread exists.
void set_writer(Writer writer);
/// Whether lines go to stderr as people read them, so that a status line makes sense on a terminal.
bool is_for_people();
/// Sets the fields that every record carries: the key. Call once, before any thread exists.
void set_common_fields(std::vector<Field> fields);

/// Takes a thread's lines in place of stderr, which then gets none of them; a status line is not
/// shown.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  [[nodiscard]] virtual bool wants(Severity severity) const = 0;
  /// Several threads may call it at once.
  virtual void take(const Record& record) = 0;
};

/// The calling thread's sink; null: it writes to stderr.
Sink* sink();

/// While it exists, the calling thread's lines go to that sink. A thread that starts meanwhile
/// (os/thread.hpp) has it as well.
class ScopedSink {
 public:
  explicit ScopedSink(Sink* sink);
  ~ScopedSink();
  ScopedSink(const ScopedSink&) = delete;
  ScopedSink& operator=(const ScopedSink&) = delete;

 private:
  Sink* before_;
};

/// A line being composed, with its fields for programs. Any thread.
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
  /// Writes the line with a single write, so that lines of two threads never mix, and first erases
  /// a status line on the terminal. Escapes anything unfit for a terminal that the caller has left
  /// in.
  void say(Severity severity, std::string_view text);

  std::string_view name_;
  std::vector<Field> fields_;
};

/// The event of a line that has no name of its own.
inline constexpr std::string_view message = "message";

/// While one exists, no line blocks on the reader of stderr, which may be a full pipe. Bytes that
/// the reader does not take at once are written with the next line, or by the destructor, which
/// blocks. Main thread.
class NonBlockingStderr {
 public:
  /// Writes to stderr without blocking, and returns how many bytes were taken.
  using AtOnce = std::size_t (*)(std::string_view text);
  explicit NonBlockingStderr(AtOnce at_once);
  ~NonBlockingStderr();
  NonBlockingStderr(const NonBlockingStderr&) = delete;
  NonBlockingStderr& operator=(const NonBlockingStderr&) = delete;
};

/// Shows `text` in place of the last status line (no newline). Only on terminals; main thread.
void status(std::string_view text);
void clear_status();

/// A line without fields.
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
