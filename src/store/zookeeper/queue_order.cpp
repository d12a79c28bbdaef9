#include "store/zookeeper/queue_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

#include "store/rules/modes.hpp"

namespace store::zookeeper {
namespace {

// ZooKeeper counts the children ever made in 32 bits with a sign, and writes "%010d": behind
// 2147483647 comes -2147483648, with a sign and one digit more.
constexpr std::size_t width = 10;
constexpr std::int64_t all_numbers = std::int64_t{1} << 32;
constexpr std::int64_t quarter = all_numbers / 4;
constexpr std::string_view stop_mark = "\nstop ";

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

rules::Modes modes_of(const LockQueue& queue) {
  static const Mode exclusive{};
  static const Mode shared{Mode::Kind::shared};
  rules::Modes modes;
  modes.reserve(queue.size());
  for (const QueueNode& each : queue) modes.push_back(each.shared ? &shared : &exclusive);
  return modes;
}

}  // namespace

std::string_view nonce_of(const Token& token) {
  const std::string_view text{token.text()};
  return text.substr(text.rfind('#') + 1);
}

LockQueue queue_of(const std::vector<std::string>& children) {
  LockQueue queue;
  for (const auto& name : children) {
    const auto number = number_of(name);
    if (number) queue.push_back({name, name.starts_with("s-"), *number});
  }
  // A queue with numbers from both ends stands where they wrap: the negative ones came later.
  const auto is_high = [](const QueueNode& each) { return each.number >= quarter; };
  const auto is_low = [](const QueueNode& each) { return each.number < -quarter; };
  if (std::any_of(queue.begin(), queue.end(), is_high) &&
      std::any_of(queue.begin(), queue.end(), is_low)) {
    for (QueueNode& each : queue) {
      if (each.number < 0) each.number += all_numbers;
    }
  }
  std::sort(queue.begin(), queue.end(), [](const QueueNode& a, const QueueNode& b) {
    return std::tie(a.number, a.name) < std::tie(b.number, b.name);
  });
  return queue;
}

bool has_a_tie(const LockQueue& queue) {
  const auto same = [](const QueueNode& a, const QueueNode& b) { return a.number == b.number; };
  return std::adjacent_find(queue.begin(), queue.end(), same) != queue.end();
}

std::optional<std::size_t> position_of(const LockQueue& queue, const Token& token) {
  for (const bool shared : {false, true}) {
    const std::string prefix = prefix_of(token, shared);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::string_view name{queue[i].name};
      if (name.starts_with(prefix) && start_of_number(name) == prefix.size()) return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> predecessor_of(const LockQueue& queue, std::size_t position) {
  return rules::awaited_by(modes_of(queue), position);
}

std::size_t holders_in(const LockQueue& queue) {
  return rules::holders_among(modes_of(queue));
}

std::string prefix_of(const Token& token, bool shared) {
  return std::string{shared ? "s-" : "x-"}.append(nonce_of(token)).append("-");
}

std::string path_of(const ZooKeeper& ensemble, const LockName& name) {
  return ensemble.base + "/" + percent_encoded(name.text());
}

std::string last_word_of(const ZooKeeper& ensemble, const Token& token) {
  // Not below the lock's node, which may be gone by then.
  return ensemble.base + "/" + std::string{nonce_of(token)} + "-stopped";
}

NodeData data_in(const std::string& text) {
  const auto end = text.find(stop_mark);
  if (end == std::string::npos) return {Token::foreign(text), std::nullopt};
  return {Token::foreign(text.substr(0, end)), text.substr(end + stop_mark.size())};
}

std::string data_of(const Token& token, const std::string& stop) {
  return fmt::format("{}{}{}", token.text(), stop_mark, stop);
}

}  // namespace store::zookeeper
