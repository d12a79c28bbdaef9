#include "store/sessions/queue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/digest.hpp"
#include "base/fields.hpp"
#include "store/rules/modes.hpp"

namespace store::sessions {
namespace {

constexpr std::string_view names_mark = "names ";
constexpr std::string_view permit_mark = "permit ";
constexpr std::string_view waits_mark = "waits";
constexpr std::string_view step_mark = "step";
constexpr std::string_view kept_mark = "kept";
constexpr std::string_view stop_mark = "stop ";

// Ten thousand waiters. ZooKeeper takes nodes of up to a megabyte.
constexpr std::size_t most_superseded = std::size_t{1} << 19;

rules::Modes modes_of(const LockQueue& queue) {
  rules::Modes modes;
  modes.reserve(queue.size());
  for (const QueueNode& each : queue) modes.push_back(&each.mode);
  return modes;
}

/// The beginning of a name, before the token's digits.
std::string kind_of(const Mode& mode) {
  if (mode.kind == Mode::Kind::shared) return "s";
  if (mode.kind == Mode::Kind::exclusive) return "x";
  return fmt::format("p{}{}{}", mode.permits, mode.names.empty() ? "" : ".",
                     mode.names.empty() ? "" : mode.names.front());
}

Mode mode_in(std::string_view name) {
  const auto kind = name.substr(0, name.find('-'));
  if (kind == "s") return {Mode::Kind::shared};
  if (!kind.starts_with('p')) return {};
  const auto dot = std::min(kind.find('.'), kind.size());
  Mode mode{Mode::Kind::permits, base::number_in<unsigned>(kind.substr(1, dot - 1)).value_or(0)};
  if (dot < kind.size()) mode.names.emplace_back(kind.substr(dot + 1));
  // Only a name that we would write: others may mean anything.
  const bool is_sound = mode.permits > 0 && kind_of(mode) == kind;
  return is_sound ? mode : Mode{};
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (;;) {
    const auto comma = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, comma));
    if (comma == list.size()) return names;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Mode named_in_queue(const Mode& mode) {
  Mode named = mode;
  if (!mode.names.empty()) {
    named.names = {
        fmt::format("{:016x}", base::digest(fmt::format("{}", fmt::join(mode.names, ","))))};
  }
  return named;
}

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

std::vector<std::size_t> watched_by(const LockQueue& queue, std::size_t position) {
  const auto before = rules::awaited_by(modes_of(queue), position);
  if (!before) return {};
  const Mode& mode = queue[position].mode;
  if (!rules::hold_together(queue[*before].mode, mode)) return {*before};
  // Permits: any holder may go first, and only the first waiter takes its place. Those behind it
  // hear of that, because it then writes its number.
  if (*before > 0) return {position - 1};
  std::vector<std::size_t> holders(position);
  std::iota(holders.begin(), holders.end(), std::size_t{0});
  return holders;
}

std::size_t holders_in(const LockQueue& queue) {
  return rules::holders_among(modes_of(queue));
}

std::size_t waiters_before(const LockQueue& queue, std::size_t position) {
  const auto holders = holders_in(queue);
  return position > holders ? position - holders : 0;
}

std::string_view nonce_of(const Token& token) {
  const std::string_view text{token.text()};
  return text.substr(text.rfind('#') + 1);
}

std::string prefix_of(const Token& token, const Mode& mode) {
  return kind_of(mode).append("-").append(nonce_of(token)).append("-");
}

// ---- texts ----

NodeText text_in(const std::string& text) {
  std::string_view rest{text};
  const auto next_line = [&rest] {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  bool more = rest.find('\n') != std::string_view::npos;
  NodeText node{Token::foreign(std::string{next_line()})};
  while (more) {
    if (rest.starts_with(stop_mark)) {
      node.stop = rest.substr(stop_mark.size());
      break;
    }
    more = rest.find('\n') != std::string_view::npos;
    const auto line = next_line();
    const bool is_permit = line.starts_with(permit_mark);
    const auto number =
        is_permit ? base::number_in<unsigned>(line.substr(permit_mark.size())) : std::nullopt;
    if (line.starts_with(names_mark)) {
      node.names = names_in(line.substr(names_mark.size()));
    } else if (number && *number > 0) {
      node.permit = *number;
    } else if (line == waits_mark) {
      node.waits = true;
    } else if (line == step_mark) {
      node.is_step = true;
    } else if (line == kept_mark) {
      node.is_kept = true;
    } else {
      node.others.append("\n").append(line);
    }
  }
  return node;
}

std::string text_of(const NodeText& node) {
  std::string text = node.token.text();
  if (!node.names.empty()) text += fmt::format("\n{}{}", names_mark, fmt::join(node.names, ","));
  if (node.permit > 0) text += fmt::format("\n{}{}", permit_mark, node.permit);
  if (node.waits) text += fmt::format("\n{}", waits_mark);
  if (node.is_step) text += fmt::format("\n{}", step_mark);
  if (node.is_kept) text += fmt::format("\n{}", kept_mark);
  text += node.others;
  if (node.stop) text += fmt::format("\n{}{}", stop_mark, *node.stop);
  return text;
}

Mode mode_of(const QueueNode& node, const NodeText& text) {
  Mode mode = node.mode;
  if (!mode.names.empty() && text.names.size() == mode.permits) mode.names = text.names;
  return mode;
}

// ---- superseded waiters: a line for each claim that superseded some, with WHY and their digits
// ----

std::string with_superseded(std::string text, const std::vector<std::string>& nonces,
                            std::string why) {
  std::replace_if(
      why.begin(), why.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  text += fmt::format("{}\t{}\n", why, fmt::join(nonces, " "));
  while (text.size() > most_superseded && text.find('\n') + 1 < text.size()) {
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

std::optional<std::string> superseded_in(std::string_view text, std::string_view nonce) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    const auto all = line.substr(tab + 1);
    for (auto at = all.find(nonce); at != std::string_view::npos; at = all.find(nonce, at + 1)) {
      const auto end = at + nonce.size();
      const bool is_whole =
          (at == 0 || all[at - 1] == ' ') && (end == all.size() || all[end] == ' ');
      if (is_whole && !nonce.empty()) return std::string{line.substr(0, tab)};
    }
  }
  return std::nullopt;
}

}  // namespace store::sessions
