#include "base/duration.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace base {
namespace {

struct Unit {
  std::string_view name;
  double millis;
};

// "ms" precedes "m", because the first match wins.
constexpr std::array units{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000},
                           Unit{"d", 86'400'000}};

// Far beyond any lease or wait, and exact in a double. It may overflow nanoseconds, so
// Deadline::after() saturates.
constexpr double longest_millis = 1000.0 * 365 * 86'400'000;

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : units) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return &unit;
    }
  }
  return nullptr;
}

std::optional<double> take_number(std::string_view& text) {
  // from_chars alone would also take "inf", "nan" and a sign.
  const auto digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                            std::chars_format::fixed);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  text.remove_prefix(number.size());
  return value;
}

}  // namespace

std::optional<Millis> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  bool first = true;
  while (!text.empty()) {
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    if (text.empty()) {
      if (!first) return std::nullopt;  // "1h30": thirty of what?
      total = *value * 1000;
      break;
    }
    const Unit* unit = take_unit(text);
    if (unit == nullptr) return std::nullopt;
    total += *value * unit->millis;
    first = false;
  }
  if (!(total <= longest_millis)) return std::nullopt;
  // Not llround(): it would make every run load the maths library.
  return Millis{static_cast<Millis::rep>(total + 0.5)};
}

std::string format_duration(Millis length) {
  const auto ms = length.count();
  const auto seconds = ms / 1000;
  // Omit a second unit that is zero: 1h, not 1h0m.
  const auto in_two = [](auto first, char unit, auto second, char smaller) {
    return second == 0 ? fmt::format("{}{}", first, unit)
                       : fmt::format("{}{}{}{}", first, unit, second, smaller);
  };
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return in_two(seconds / 60, 'm', seconds % 60, 's');
  if (seconds < 86'400) return in_two(seconds / 3600, 'h', seconds / 60 % 60, 'm');
  return in_two(seconds / 86'400, 'd', seconds / 3600 % 24, 'h');
}

}  // namespace base
