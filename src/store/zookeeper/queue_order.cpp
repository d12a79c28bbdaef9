#include "store/zookeeper/queue_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace store::zookeeper {
namespace {

constexpr std::size_t digits = 10;  // of a sequential node's number
constexpr std::string_view stop_mark = "\nstop ";

std::optional<std::int64_t> number_of(std::string_view name) {
  if (name.size() < digits) return std::nullopt;
  const auto text = name.substr(name.size() - digits);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
  return number;
}

std::string_view nonce_of(const Token& token) {
  const std::string_view text{token.text()};
  return text.substr(text.rfind('#') + 1);
}

}  // namespace

LockQueue queue_of(const std::vector<std::string>& children) {
  LockQueue queue;
  for (const auto& name : children) {
    const auto number = number_of(name);
    if (number) queue.push_back({name, name.starts_with("s-"), *number});
  }
  std::sort(queue.begin(), queue.end(),
            [](const QueueNode& a, const QueueNode& b) { return a.number < b.number; });
  return queue;
}

std::optional<std::size_t> place_of(const LockQueue& queue, const Token& token) {
  const std::string mine{nonce_of(token)};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].name.find(mine) != std::string::npos) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> predecessor_of(const LockQueue& queue, std::size_t place) {
  for (std::size_t i = place; i-- > 0;) {
    if (!queue[place].shared || !queue[i].shared) return i;
  }
  return std::nullopt;
}

std::size_t holders_in(const LockQueue& queue) {
  std::size_t count = 0;
  while (count < queue.size() && !predecessor_of(queue, count)) ++count;
  return count;
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
