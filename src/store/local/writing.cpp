#include "store/local/writing.hpp"

#include <fmt/format.h>

#include <charconv>

namespace store::local {
namespace {

// The kinds by number, as they have been written since the first version.
constexpr std::uint64_t exclusive = 0;
constexpr std::uint64_t shared = 1;
constexpr std::uint64_t permits = 2;

std::uint64_t number_of(Mode::Kind kind) {
  switch (kind) {
    case Mode::Kind::exclusive: return exclusive;
    case Mode::Kind::shared: return shared;
    case Mode::Kind::permits: break;
  }
  return permits;
}

std::optional<Mode> mode_of(std::uint64_t kind, std::uint64_t number) {
  if (kind == exclusive) return Mode{};
  if (kind == shared) return Mode{Mode::Kind::shared};
  if (kind != permits || number < 2 || number > Mode::most_permits) return std::nullopt;
  return Mode{Mode::Kind::permits, static_cast<unsigned>(number)};
}

}  // namespace

std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    if (*at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    if (stop != end && *stop != ' ' && *stop != '\n') return {};
    numbers.push_back(number);
    at = stop;
  }
  return numbers;
}

std::string twenty_digits(std::uint64_t number) {
  return fmt::format("{:020}", number);
}

std::string text_of(const Entry& entry) {
  return fmt::format("{} {} {}\n{}", number_of(entry.mode.kind), entry.mode.permits, entry.since,
                     entry.token.text());
}

std::optional<Entry> entry_in(std::string_view text) {
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const auto numbers = numbers_in(text.substr(0, line));
  if (numbers.size() != 3) return std::nullopt;
  const auto mode = mode_of(numbers[0], numbers[1]);
  if (!mode) return std::nullopt;
  return Entry{0,
               Token::foreign(std::string{text.substr(line + 1)}),
               *mode,
               wall_time(numbers[2]),
               std::nullopt,
               std::nullopt};
}

}  // namespace store::local
