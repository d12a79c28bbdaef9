#include "store/sessions/queue.hpp"

#include <fmt/format.h>

#include "store/rules/modes.hpp"

namespace store::sessions {
namespace {

constexpr std::string_view stop_mark = "\nstop ";

rules::Modes modes_of(const LockQueue& queue) {
  rules::Modes modes;
  modes.reserve(queue.size());
  for (const QueueNode& each : queue) modes.push_back(&each.mode);
  return modes;
}

Mode mode_in(std::string_view name) {
  return {name.starts_with("s-") ? Mode::Kind::shared : Mode::Kind::exclusive};
}

}  // namespace

LockQueue queue_of(const std::vector<std::string>& names) {
  LockQueue queue;
  queue.reserve(names.size());
  for (const auto& name : names) queue.push_back({name, mode_in(name)});
  return queue;
}

std::optional<std::size_t> position_of(const LockQueue& queue, const Token& token) {
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::string_view name{queue[i].name};
    const std::string prefix = prefix_of(token, queue[i].mode);
    if (!name.starts_with(prefix)) continue;
    // Only a number may follow, or the node is another token's.
    const auto number = name.substr(prefix.size() + (name.substr(prefix.size()).starts_with('-')));
    if (number.find_first_not_of("0123456789") == std::string_view::npos) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> predecessor_of(const LockQueue& queue, std::size_t position) {
  return rules::awaited_by(modes_of(queue), position);
}

std::size_t holders_in(const LockQueue& queue) {
  return rules::holders_among(modes_of(queue));
}

std::string_view nonce_of(const Token& token) {
  const std::string_view text{token.text()};
  return text.substr(text.rfind('#') + 1);
}

std::string prefix_of(const Token& token, const Mode& mode) {
  const bool shared = mode.kind == Mode::Kind::shared;
  return std::string{shared ? "s-" : "x-"}.append(nonce_of(token)).append("-");
}

NodeText text_in(const std::string& text) {
  const auto end = text.find(stop_mark);
  if (end == std::string::npos) return {Token::foreign(text)};
  return {Token::foreign(text.substr(0, end)), text.substr(end + stop_mark.size())};
}

std::string text_of(const Token& token, const std::string& stop) {
  return fmt::format("{}{}{}", token.text(), stop_mark, stop);
}

}  // namespace store::sessions
