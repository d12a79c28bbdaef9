#include "store/quorum/math.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "store/rules/runs.hpp"
#include "store/rules/slot.hpp"

namespace store::quorum {
namespace {

/// Faults that no retry can cure come first.
int rank(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::misconfigured:
    case Fault::Kind::denied: return 0;
    case Fault::Kind::unusable: return 1;
    case Fault::Kind::unavailable: return 2;
    case Fault::Kind::silent: return 3;
    case Fault::Kind::unreachable: break;
  }
  return 4;
}

/// How many nodes reported on the lock at all.
std::size_t told(const Answers<Attempt>& answers) {
  return count<Busy>(answers) + count<Queued>(answers) + count<Granted>(answers) +
         count<ModeConflict>(answers);
}

/// The holder according to a node that did not grant.
const Holder* holder_in(const std::optional<Attempt>& answer) {
  if (const auto* busy = given<Busy>(answer)) return busy->holder ? &*busy->holder : nullptr;
  if (const auto* queued = given<Queued>(answer)) {
    return queued->holder ? &*queued->holder : nullptr;
  }
  return nullptr;
}

}  // namespace

LastCall last_call(Moment began, Moment now, Moment::duration unheard_for) {
  const Moment::duration took = now - began;
  const auto at_least = [&](Millis least) {
    const auto span =
        std::max<Moment::duration>({took, least, unheard_for + unheard_for / 4 - took});
    return Deadline::at(now + std::min<Moment::duration>(span, LastCall::longest));
  };
  return {Deadline::after(now, LastCall::longest), at_least(LastCall::shortest),
          at_least(LastCall::to_connect)};
}

Answers<Attempt> since(const Answers<Attempt>& first, Answers<Attempt> all) {
  for (std::size_t node = 0; node < all.size(); ++node) {
    if (first[node]) all[node].reset();
  }
  return all;
}

std::optional<Lease> granted(const Answers<Attempt>& answers) {
  if (count<Granted>(answers) < majority(answers.size())) return std::nullopt;
  std::optional<Lease> lease;
  for (const auto& each : answers) {
    const auto* grant = given<Granted>(each);
    if (grant == nullptr) continue;
    if (!lease) lease = grant->lease;
    lease->fence = std::max(lease->fence, grant->lease.fence);
    const auto run = rules::higher_of(rules::number_of(*lease), rules::number_of(grant->lease));
    lease->attempt = run.attempt;
    lease->failures = run.failures;
    lease->valid_until = std::min(lease->valid_until, grant->lease.valid_until);
    lease->asked_at = std::min(lease->asked_at, grant->lease.asked_at);
  }
  return lease;
}

bool may_have_it(const std::optional<Attempt>& answer) {
  if (!answer || std::holds_alternative<Granted>(*answer)) return true;
  const auto* fault = std::get_if<Fault>(&*answer);
  return fault != nullptr &&
         (fault->kind == Fault::Kind::silent || fault->kind == Fault::Kind::unusable);
}

std::optional<SlotDone> slot_done(const Answers<Attempt>& answers) {
  std::optional<SlotDone> last;
  for (const auto& each : answers) {
    const auto* done = given<SlotDone>(each);
    if (done != nullptr && (!last || done->attempt > last->attempt)) last = *done;
  }
  if (!last) return std::nullopt;
  // A node that granted late has a different number.
  std::vector<Fence> numbers;
  for (const auto& each : answers) {
    const auto* done = given<SlotDone>(each);
    if (done != nullptr && done->by == last->by) numbers.push_back(done->fence);
  }
  last->fence = *fence_among(numbers, answers.size());
  return last;
}

bool most_told(const Answers<Attempt>& answers) {
  return told(answers) >= majority(answers.size());
}

bool reason_is_known(const Answers<Attempt>& answers) {
  const auto most = majority(answers.size());
  return count<SlotDone>(answers) > 0 || told(answers) >= most ||
         told(answers) + late(answers).size() < most;
}

Attempt why_not(const Answers<Attempt>& answers) {
  if (auto done = slot_done(answers)) return *std::move(done);
  const auto most = majority(answers.size());
  std::map<std::string, std::size_t> nodes_of;
  std::size_t read = 0;
  for (const auto& each : answers) {
    const auto* holder = holder_in(each);
    if (holder == nullptr) continue;
    if (++nodes_of[holder->token] >= most) return Busy{*holder, 0};
    // Each node names the oldest of several readers, which need not be the same one.
    if (holder->others > 0 && ++read >= most) return Busy{*holder, 0};
  }
  if (told(answers) >= most) return Busy{std::nullopt, 0};
  return summary(answers);
}

std::size_t open_to_us(const Answers<Attempt>& answers) {
  return static_cast<std::size_t>(
      std::count_if(answers.begin(), answers.end(), [](const auto& each) {
        const auto* busy = given<Busy>(each);
        if (busy == nullptr) return given<Granted>(each) != nullptr;
        return busy->waiting == 0 && busy->holder && busy->holder->kind == Holder::Kind::holder;
      }));
}

Fault summary(const std::vector<Fault>& all, std::size_t of) {
  if (all.empty()) return {Fault::Kind::unavailable, "the servers do not agree"};
  // Nodes that we did not wait for are no reason, unless there is no other.
  std::vector<Fault> faults;
  std::copy_if(all.begin(), all.end(), std::back_inserter(faults),
               [](const Fault& fault) { return fault.why != cut_short; });
  if (faults.empty()) faults = all;
  const auto first = std::min_element(
      faults.begin(), faults.end(),
      [](const Fault& one, const Fault& other) { return rank(one) < rank(other); });
  // A silent node may have done as asked.
  const bool any_silent = std::any_of(
      all.begin(), all.end(), [](const Fault& fault) { return fault.kind == Fault::Kind::silent; });
  const bool unheard = first->kind == Fault::Kind::unreachable && any_silent;
  // A node that was only late for the decision did not refuse.
  const bool not_reached = rank(*first) >= rank({Fault::Kind::silent, ""});
  const auto number = std::count_if(faults.begin(), faults.end(), [&](const Fault& fault) {
    return not_reached || fault.kind == first->kind;
  });
  return {unheard ? Fault::Kind::silent : first->kind,
          fmt::format("{} of {} servers: {}", number, of, first->why)};
}

std::vector<std::pair<std::size_t, std::size_t>> alike(const Answers<Attempt>& answers) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t one = 0; one < answers.size(); ++one) {
    const auto* first = given<Granted>(answers[one]);
    for (std::size_t other = one + 1; first != nullptr && other < answers.size(); ++other) {
      const auto* second = given<Granted>(answers[other]);
      if (second == nullptr || second->lease.fence != first->lease.fence) continue;
      if (first->again || second->again) pairs.emplace_back(one, other);
    }
  }
  return pairs;
}

std::optional<Fence> fence_among(const std::vector<Fence>& numbers, std::size_t of) {
  if (numbers.empty()) return std::nullopt;
  for (const Fence number : numbers) {
    const auto times = std::count(numbers.begin(), numbers.end(), number);
    if (static_cast<std::size_t>(times) >= majority(of)) return number;
  }
  return *std::min_element(numbers.begin(), numbers.end());
}

std::size_t ahead(const Answers<Attempt>& answers) {
  std::vector<std::size_t> numbers;
  for (const auto& each : answers) {
    if (const auto* queued = given<Queued>(each)) numbers.push_back(queued->ahead);
    if (given<Granted>(each) != nullptr) numbers.push_back(0);
  }
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  return numbers[std::min(numbers.size(), majority(answers.size())) - 1];
}

std::optional<StillOurs> standing(const Answers<Standing>& answers) {
  std::vector<Deadline> ends;
  std::vector<Deadline> without_fence;
  std::vector<Fence> numbers;
  Mode mode;
  for (const auto& each : answers) {
    const auto* ours = given<StillOurs>(each);
    if (ours == nullptr) continue;
    (ours->fence ? ends : without_fence).push_back(ours->until);
    if (!ours->fence) continue;
    numbers.push_back(*ours->fence);
    mode = ours->mode;
  }
  // If other nodes know the fence, one without it has only reserved the lock for us.
  if (ends.empty()) ends = std::move(without_fence);
  const auto most = majority(answers.size());
  if (ends.size() < most) return std::nullopt;
  // A majority lasts as long as its shortest node, and this is the majority that lasts longest.
  std::sort(ends.begin(), ends.end(), std::greater<>{});
  return StillOurs{ends[most - 1], fence_among(numbers, answers.size()), mode};
}

namespace {

/// Each run once, newest first. A node that lacks a run may have granted too late, or lost its
/// data. A node that alone has it may never have received the withdrawal. So a run without a known
/// end counts only if a majority has it, or may have it. Its holder reports its end to all nodes; a
/// forced release counts only if a majority, or a possible one, says so.
std::vector<Run> merged_runs(const std::vector<LockReport>& reports, std::size_t of,
                             const std::vector<HolderReport>& holders) {
  std::map<std::string, std::vector<Run>> seen;
  for (const LockReport& report : reports) {
    for (const Run& run : report.runs) seen[run.token.text()].push_back(run);
  }
  std::vector<Run> result;
  for (auto& [token, same] : seen) {
    const auto silent = of - reports.size();
    const auto taken_away = [](const Run& each) {
      return each.held && each.outcome.kind == RunOutcome::Kind::lost;
    };
    auto ended = std::find_if(same.begin(), same.end(),
                              [&](const Run& each) { return each.held && !taken_away(each); });
    const auto so_many = std::count_if(same.begin(), same.end(), taken_away);
    if (ended == same.end() && static_cast<std::size_t>(so_many) + silent >= majority(of)) {
      ended = std::find_if(same.begin(), same.end(), taken_away);
    }
    if (ended == same.end() && same.size() + silent < majority(of)) continue;
    Run run = ended != same.end()
                  ? *ended
                  : *std::find_if(same.begin(), same.end(), [](auto& each) { return !each.held; });
    for (const Run& each : same) run.attempt = std::max(run.attempt, each.attempt);
    if (!run.held) {
      const auto holder = std::find_if(
          holders.begin(), holders.end(),
          [&, &whose = token](const auto& each) { return each.holder.token == whose; });
      const bool holds = holder != holders.end();
      run.outcome.kind = holds ? RunOutcome::Kind::running : RunOutcome::Kind::lost;
      // Each node issued its own number; the highest became the grant's.
      for (const Run& each : same) run.fence = std::max(run.fence, each.fence);
      if (holds) run.fence = holder->fence.value_or(run.fence);
    } else {
      std::vector<Fence> numbers;
      for (const Run& each : same) {
        if (each.held) numbers.push_back(each.fence);
      }
      run.fence = fence_among(numbers, of).value_or(run.fence);
    }
    result.push_back(std::move(run));
  }
  std::sort(result.begin(), result.end(),
            [](const Run& one, const Run& other) { return one.granted_ago < other.granted_ago; });
  return rules::newest_of(std::move(result));
}

/// Those in the queues of a majority, or of a possible one. A client that holds the lock on some
/// nodes only comes first in their queues.
std::vector<Waiter> merged_waiters(const std::vector<LockReport>& reports, std::size_t of,
                                   const std::vector<HolderReport>& holders) {
  struct InLine {
    Waiter waiter;
    std::vector<std::size_t> ranks;
  };
  std::map<std::string, InLine> seen;
  for (const LockReport& report : reports) {
    for (std::size_t rank = 0; rank < report.waiters.size(); ++rank) {
      const Waiter& one = report.waiters[rank];
      auto& same = seen.try_emplace(one.token.text(), InLine{one, {}}).first->second;
      same.waiter.waiting_for = std::max(same.waiter.waiting_for, one.waiting_for);
      same.ranks.push_back(rank + 1);
    }
  }
  for (const LockReport& report : reports) {
    for (const HolderReport& one : report.holders) {
      const auto same = seen.find(one.holder.token);
      if (same != seen.end()) same->second.ranks.push_back(0);
    }
  }
  for (const HolderReport& one : holders) seen.erase(one.holder.token);
  const auto most = majority(of);
  const auto silent = of - reports.size();
  std::vector<InLine> line;
  for (auto& [token, one] : seen) {
    if (one.ranks.size() + silent < most) continue;
    std::sort(one.ranks.begin(), one.ranks.end());
    one.ranks.resize(std::min(one.ranks.size(), most));
    line.push_back(std::move(one));
  }
  const auto place = [most](const InLine& one) {
    return std::tuple{one.ranks.size() < most, one.ranks.back(),
                      -one.waiter.waiting_for.value_or(Millis{0})};
  };
  std::sort(line.begin(), line.end(),
            [&](const InLine& one, const InLine& other) { return place(one) < place(other); });
  std::vector<Waiter> result;
  result.reserve(line.size());
  for (InLine& each : line) result.push_back(std::move(each.waiter));
  return result;
}

}  // namespace

LockReport merged(const LockName& name, const std::vector<LockReport>& reports, std::size_t of) {
  LockReport result{name, std::nullopt, {}, std::nullopt, {}};
  std::map<std::string, std::vector<HolderReport>> seen;
  const auto silent = of - reports.size();
  const auto enough = majority(of) > silent ? majority(of) - silent : 1;
  for (const LockReport& report : reports) {
    if (report.fence) result.fence = std::max(result.fence.value_or(0), *report.fence);
    for (const HolderReport& one : report.holders) {
      auto& same = seen[one.holder.token];
      same.push_back(one);
      if (same.size() != enough) continue;
      result.holders.push_back(one);
      result.mode = report.mode;
    }
  }
  for (HolderReport& one : result.holders) {
    std::vector<Fence> numbers;
    for (const HolderReport& each : seen[one.holder.token]) {
      if (each.holder.kind == Holder::Kind::kept) one.holder.kind = Holder::Kind::kept;
      if (each.fence) numbers.push_back(*each.fence);
    }
    one.fence = fence_among(numbers, of);
  }
  // A node that granted late issued a number that no lease has.
  if (!result.holders.empty()) result.fence.reset();
  for (const HolderReport& one : result.holders) {
    if (one.fence) result.fence = std::max(result.fence.value_or(0), *one.fence);
  }
  result.waiters = merged_waiters(reports, of, result.holders);
  result.runs = merged_runs(reports, of, result.holders);
  return result;
}

}  // namespace store::quorum
