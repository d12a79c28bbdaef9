#include "store/zookeeper/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

namespace store::zookeeper {
namespace {

// ZooKeeper counts the children ever made in 32 bits with a sign, and writes "%010d": behind
// 2147483647 comes -2147483648, with a sign and one digit more.
constexpr std::size_t width = 10;
constexpr std::int64_t all_numbers = std::int64_t{1} << 32;
constexpr std::int64_t quarter = all_numbers / 4;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Where the number begins that a sequential node's name ends with.
std::optional<std::size_t> start_of_number(std::string_view name) {
  if (name.size() < width) return std::nullopt;
  const auto start = name.size() - width;
  const auto first_digit = name[start] == '-' ? start + 1 : start;
  const auto digits = name.substr(first_digit);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  // "lock-1000000000" is positive, "lock--1000000000" is not.
  const bool signed_before = start >= 1 && first_digit == start && name[start - 1] == '-' &&
                             (start == 1 || !is_letter_or_digit(name[start - 2]));
  return signed_before ? start - 1 : start;
}

std::optional<std::int64_t> number_of(std::string_view name) {
  const auto start = start_of_number(name);
  if (!start) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(name.data() + *start, name.data() + name.size(), number);
  return number;
}

}  // namespace

std::vector<NumberedNode> in_order(const std::vector<std::string>& children) {
  std::vector<NumberedNode> nodes;
  for (const auto& name : children) {
    if (const auto number = number_of(name)) nodes.push_back({name, *number});
  }
  // Where numbers from both ends stand together, they wrapped: the negative ones came later.
  const auto is_high = [](const NumberedNode& each) { return each.number >= quarter; };
  const auto is_low = [](const NumberedNode& each) { return each.number < -quarter; };
  if (std::any_of(nodes.begin(), nodes.end(), is_high) &&
      std::any_of(nodes.begin(), nodes.end(), is_low)) {
    for (NumberedNode& each : nodes) {
      if (each.number < 0) each.number += all_numbers;
    }
  }
  std::sort(nodes.begin(), nodes.end(), [](const NumberedNode& a, const NumberedNode& b) {
    return std::tie(a.number, a.name) < std::tie(b.number, b.name);
  });
  return nodes;
}

bool has_a_tie(const std::vector<NumberedNode>& nodes) {
  const auto same = [](const NumberedNode& a, const NumberedNode& b) {
    return a.number == b.number;
  };
  return std::adjacent_find(nodes.begin(), nodes.end(), same) != nodes.end();
}

}  // namespace store::zookeeper
