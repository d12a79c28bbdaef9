#include "cmd/refusal.hpp"

#include "base/text.hpp"

namespace cmd {
namespace {

// What was seen is repeated for the user to find it, not in full if it is a novel.
constexpr std::size_t longest_seen = 100;

}  // namespace

Refusal not_accepted(std::string_view source, std::string_view seen, std::string_view accepted,
                     ExitCode code) {
  return {code, fmt::format("{}: saw '{}', accepted: {}", source,
                            base::printable(seen, longest_seen), accepted)};
}

}  // namespace cmd
