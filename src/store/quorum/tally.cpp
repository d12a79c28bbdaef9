#include "store/quorum/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace store::quorum {

std::optional<Lease> granted(const Answers<Attempt>& answers) {
  if (count<Granted>(answers) < majority(answers.size())) return std::nullopt;
  std::optional<Lease> lease;
  for (const auto& each : answers) {
    const auto* grant = each ? std::get_if<Granted>(&*each) : nullptr;
    if (grant == nullptr) continue;
    if (!lease) lease = grant->lease;
    lease->fence = std::max(lease->fence, grant->lease.fence);
    lease->valid_until = std::min(lease->valid_until, grant->lease.valid_until);
    lease->asked_at = std::min(lease->asked_at, grant->lease.asked_at);
  }
  return lease;
}

NotGranted not_granted(const Answers<Attempt>& answers) {
  const auto most = majority(answers.size());
  std::map<std::string, std::size_t> holders;
  for (const auto& each : answers) {
    const auto* busy = each ? std::get_if<Busy>(&*each) : nullptr;
    if (busy == nullptr || !busy->occupant) continue;
    if (++holders[busy->occupant->token] >= most) {
      return {NotGranted::Why::busy, busy->occupant, {}};
    }
  }
  const auto answered =
      count<Busy>(answers) + count<Granted>(answers) + count<ModeConflict>(answers);
  if (answered >= most) return {NotGranted::Why::split, std::nullopt, {}};
  return {NotGranted::Why::fault, std::nullopt, summary(answers)};
}

Fault summary(const std::vector<Fault>& faults, std::size_t of) {
  if (faults.empty()) return {Fault::Kind::unavailable, "the servers do not agree"};
  // What waiting cannot heal is said first.
  const auto rank = [](const Fault& fault) {
    switch (fault.kind) {
      case Fault::Kind::denied: return 0;
      case Fault::Kind::unusable: return 1;
      case Fault::Kind::unavailable: return 2;
      case Fault::Kind::silent: return 3;
      case Fault::Kind::unreachable: break;
    }
    return 4;
  };
  const auto first = std::min_element(
      faults.begin(), faults.end(),
      [&](const Fault& one, const Fault& other) { return rank(one) < rank(other); });
  // A silent one may have done what it was asked.
  const bool any_silent = std::any_of(faults.begin(), faults.end(), [](const Fault& fault) {
    return fault.kind == Fault::Kind::silent;
  });
  const bool unheard = first->kind == Fault::Kind::unreachable && any_silent;
  // Who was only late, when it was decided without it, is not one of those who refused.
  const bool not_reached = rank(*first) >= rank({Fault::Kind::silent, ""});
  const auto number = std::count_if(faults.begin(), faults.end(), [&](const Fault& fault) {
    return not_reached || fault.kind == first->kind;
  });
  return {unheard ? Fault::Kind::silent : first->kind,
          fmt::format("{} of {} servers: {}", number, of, first->why)};
}

std::optional<Fence> fence_among(const std::vector<Fence>& numbers, std::size_t of) {
  if (numbers.empty()) return std::nullopt;
  for (const Fence number : numbers) {
    const auto times = std::count(numbers.begin(), numbers.end(), number);
    if (static_cast<std::size_t>(times) >= majority(of)) return number;
  }
  return *std::min_element(numbers.begin(), numbers.end());
}

std::optional<StillOurs> standing(const Answers<Standing>& answers) {
  std::vector<Deadline> ends;
  std::vector<Fence> numbers;
  for (const auto& each : answers) {
    const auto* ours = each ? std::get_if<StillOurs>(&*each) : nullptr;
    if (ours == nullptr) continue;
    ends.push_back(ours->until);
    if (ours->fence) numbers.push_back(*ours->fence);
  }
  const auto most = majority(answers.size());
  if (ends.size() < most) return std::nullopt;
  // As many of them last at least so long as a majority needs.
  std::sort(ends.begin(), ends.end(), std::greater<>{});
  return StillOurs{ends[most - 1], fence_among(numbers, answers.size())};
}

}  // namespace store::quorum
