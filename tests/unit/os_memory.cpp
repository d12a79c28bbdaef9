#include "os/memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"
#include "os/poll.hpp"

namespace unit::os_memory {

using base::Deadline;
using base::Millis;

namespace {

/// How much of the program's file is in memory here and now, in KB; not its libraries, of which a
/// sanitizer's own threads may use some meanwhile.
long mapped_kb() {
  // Little code before the kernel has counted: what runs comes back into memory.
  static std::array<char, 1 << 20> text;
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  const std::size_t size = file == nullptr ? 0 : std::fread(text.data(), 1, text.size(), file);
  if (file == nullptr || std::fclose(file) != 0) throw std::runtime_error{"no smaps"};
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::istringstream maps{std::string{text.data(), size}};
  bool is_program = false;
  long sum = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words{line};
    std::string name;
    long kb = 0;
    if (!(words >> name >> kb) || !line.ends_with(" kB")) {
      if (name != "VmFlags:") is_program = line.ends_with(program);
    } else if (is_program && name == "Rss:") {
      sum += kb;
    } else if (is_program && name == "Anonymous:") {
      sum -= kb;
    }
  }
  if (sum == 0) throw std::runtime_error{"no mapping of the program"};
  return sum;
}

/// Sleeps for a fifth of a second, though the limit may be a later one; what is in memory before
/// and after.
std::array<long, 2> around_a_sleep(Deadline long_from, Millis limit) {
  os::Timer timer;
  const long before = mapped_kb();
  timer.set(Deadline::after(base::now(), Millis{200}));
  const Deadline until = Deadline::after(base::now(), limit);
  (void)os::wait_for(timer.descriptor(), os::Want::read, {until, -1, nullptr, long_from});
  return {before, mapped_kb()};
}

}  // namespace

TEST_CASE("a program that shed its memory goes on as before") {
  const std::string kept(100'000, 'x');
  os::shed_memory();
  CHECK(kept == std::string(100'000, 'x'));
  CHECK_THROWS_AS(std::stoi("no number"), std::invalid_argument);
}

TEST_CASE("a long wait gives back the pages of the program, and nothing else does") {
  constexpr Millis long_time{60'000};
  const auto at_once = Deadline::at(base::now());
  const auto [before_question, after_question] = around_a_sleep(Deadline::never(), long_time);
  CHECK(after_question > before_question / 2);
  const auto [before_moment, after_moment] = around_a_sleep(at_once, Millis{1'000});
  CHECK(after_moment > before_moment / 2);
  const auto [before_long, after_long] = around_a_sleep(at_once, long_time);
  CHECK(after_long < before_long / 2);
}

}  // namespace unit::os_memory
