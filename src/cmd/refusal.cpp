#include "cmd/refusal.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "store/spec.hpp"

namespace cmd {
namespace {

// What was seen is repeated for the user to find it, not in full if it is a novel.
constexpr std::size_t longest_seen = 100;

}  // namespace

Refusal not_accepted(std::string_view source, std::string_view seen, std::string_view accepted,
                     ExitCode code) {
  return {code, fmt::format("{}: saw '{}', accepted: {}", source, shown(seen), accepted)};
}

std::string shown(std::string_view word) {
  const bool has_url = word.find("://") != word.npos;
  return base::printable(has_url ? store::without_secret(std::string{word}) : word, longest_seen);
}

std::string shown_option(std::string_view word) {
  const auto is_of_name = [](char c) {
    return c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto end = std::find_if_not(word.begin(), word.end(), is_of_name);
  return std::string{word.begin(), end} + (end == word.end() ? "" : "…");
}

}  // namespace cmd
