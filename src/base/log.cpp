#include "base/log.hpp"

#include <atomic>
#include <cstdio>

#include "base/text.hpp"

namespace base::log {
namespace {

std::atomic<Level> current{Level::normal};
std::atomic<bool> status_shown{false};

// Back to the first column and wipe: ECMA-48 CR and EL, which every terminal emulator knows.
constexpr std::string_view wipe = "\r\x1b[K";

// Somebody's name may be a megabyte; what we have to say of it comes first, or can be asked for.
constexpr std::size_t longest_line = 4000;

std::string fit(std::string_view text) {
  if (text.size() <= longest_line) return one_line(text);
  return one_line(text.substr(0, longest_line)) + "…";
}

void write(const std::string& text) {
  // stderr is unbuffered, so one fwrite is one write(2).
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void set_level(Level level) {
  current = level;
}

Level level() {
  return current;
}

void line(std::string_view text) {
  const bool shown = status_shown.exchange(false);
  write(fmt::format("{}rlock: {}\n", shown ? wipe : "", fit(text)));
}

void status(std::string_view text) {
  status_shown = true;
  write(fmt::format("{}rlock: {}", wipe, fit(text)));
}

void clear_status() {
  if (status_shown.exchange(false)) write(std::string{wipe});
}

}  // namespace base::log
