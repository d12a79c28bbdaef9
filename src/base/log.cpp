#include "base/log.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/text.hpp"

namespace base::log {
namespace {

std::atomic<Level> current{Level::normal};
std::atomic<bool> status_shown{false};
std::atomic<Writer> chosen_writer{nullptr};
std::vector<Field> common;  // set before any thread

thread_local Sink* chosen_sink = nullptr;

// Back to the first column and erase: ECMA-48 CR and EL, which every terminal emulator supports.
constexpr std::string_view wipe = "\r\x1b[K";

// A name may take a megabyte; a message states what matters first, and commands show the rest.
constexpr std::size_t longest_line = 4000;

std::string fit(std::string_view text) {
  if (text.size() <= longest_line) return one_line(text);
  return one_line(text.substr(0, longest_line)) + "…";
}

// The backlog of stderr while writes do not block. More than this is not worth keeping.
constexpr std::size_t most_unsaid = std::size_t{64} << 10;
std::mutex mutex;  // guards `unsaid` and `write_at_once`
std::string unsaid;
NonBlockingStderr::AtOnce write_at_once = nullptr;

void write_waiting(const std::string& text) {
  // stderr is unbuffered, so one fwrite is one write(2).
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

void write(const std::string& text) {
  const std::lock_guard guard{mutex};
  if (write_at_once == nullptr) return write_waiting(text);
  if (unsaid.size() + text.size() <= most_unsaid) unsaid += text;
  unsaid.erase(0, write_at_once(unsaid));
}

}  // namespace

void set_level(Level level) {
  current = level;
}

Level level() {
  return current;
}

bool is_said(Severity severity) {
  if (chosen_sink != nullptr) return chosen_sink->wants(severity);
  return static_cast<int>(severity) <= static_cast<int>(current.load());
}

void set_writer(Writer writer) {
  chosen_writer = writer;
}

bool is_for_people() {
  return chosen_writer == nullptr && chosen_sink == nullptr;
}

void set_common_fields(std::vector<Field> fields) {
  common = std::move(fields);
}

Sink* sink() {
  return chosen_sink;
}

ScopedSink::ScopedSink(Sink* sink) : before_{std::exchange(chosen_sink, sink)} {}

ScopedSink::~ScopedSink() {
  chosen_sink = before_;
}

NonBlockingStderr::NonBlockingStderr(AtOnce at_once) {
  const std::lock_guard guard{mutex};
  write_at_once = at_once;
}

NonBlockingStderr::~NonBlockingStderr() {
  const std::lock_guard guard{mutex};
  write_at_once = nullptr;
  if (!unsaid.empty()) write_waiting(std::exchange(unsaid, {}));
}

void Event::say(Severity severity, std::string_view text) {
  if (!is_said(severity)) return;
  const std::string fitting = fit(text);
  if (chosen_sink != nullptr) {
    return chosen_sink->take({severity, name_, fitting, std::move(fields_)});
  }
  std::optional<std::string> line = fmt::format("rlock: {}\n", fitting);
  if (const Writer other = chosen_writer) {
    std::vector<Field> fields = common;
    for (Field& own : fields_) {
      std::erase_if(fields, [&](const Field& each) { return each.name == own.name; });
      fields.push_back(std::move(own));
    }
    line = other({severity, name_, fitting, std::move(fields)});
  }
  if (!line) return;
  const bool shown = status_shown.exchange(false);
  write((shown ? std::string{wipe} : std::string{}) + *line);
}

void status(std::string_view text) {
  if (chosen_sink != nullptr) return;
  status_shown = true;
  write(fmt::format("{}rlock: {}", wipe, fit(text)));
}

void clear_status() {
  if (status_shown.exchange(false)) write(std::string{wipe});
}

}  // namespace base::log
