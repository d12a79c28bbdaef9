#include "store/rules/runs.hpp"

#include <algorithm>

namespace store::rules {

std::vector<Run> newest_of(std::vector<Run> runs) {
  if (runs.size() > remembered_runs) {
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(remembered_runs), runs.end());
  }
  return runs;
}

std::optional<std::size_t> makes_room(std::size_t count,
                                      const std::function<bool(std::size_t)>& goes_on) {
  if (count < remembered_runs) return std::nullopt;
  for (std::size_t i = count; i-- > 0;) {
    if (!goes_on(i)) return i;
  }
  return std::nullopt;
}

std::optional<base::Millis> typical_length(const std::vector<Run>& runs) {
  using Kind = RunOutcome::Kind;
  std::vector<base::Millis> lengths;
  for (std::size_t i = 0; i < std::min(runs.size(), runs_for_typical_length); ++i) {
    const auto kind = runs[i].outcome.kind;
    if ((kind == Kind::exited || kind == Kind::released) && runs[i].held) {
      lengths.push_back(*runs[i].held);
    }
  }
  if (lengths.empty()) return std::nullopt;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

}  // namespace store::rules
