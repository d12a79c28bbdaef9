#include "store/zookeeper/line.hpp"

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

Line line_of(const std::vector<std::string>& children) {
  Line line;
  for (const auto& name : children) {
    if (const auto number = number_of(name))
      line.push_back({name, name.starts_with("s-"), *number});
  }
  std::sort(line.begin(), line.end(),
            [](const Contender& a, const Contender& b) { return a.number < b.number; });
  return line;
}

std::optional<std::size_t> place_of(const Line& line, const Token& token) {
  const std::string mine{nonce_of(token)};
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].name.find(mine) != std::string::npos) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> blocker_of(const Line& line, std::size_t place) {
  for (std::size_t i = place; i-- > 0;) {
    if (!line[place].shared || !line[i].shared) return i;
  }
  return std::nullopt;
}

std::size_t holders_in(const Line& line) {
  std::size_t count = 0;
  while (count < line.size() && !blocker_of(line, count)) ++count;
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

Message message_in(const std::string& data) {
  const auto end = data.find(stop_mark);
  if (end == std::string::npos) return {Token::foreign(data), std::nullopt};
  return {Token::foreign(data.substr(0, end)), data.substr(end + stop_mark.size())};
}

std::string data_of(const Token& token, const std::string& stop) {
  return fmt::format("{}{}{}", token.text(), stop_mark, stop);
}

}  // namespace store::zookeeper
