#include "store/quorum/quorum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "store/quorum/nodes.hpp"

namespace store::quorum {
namespace {

// An operator is waiting at the screen: long enough for a distant or busy node, not for a dead one.
// A node that learns of a removal too late keeps the lock until its TTL is over.
constexpr Millis for_the_late{500};

using Verdict = Finding::Verdict;

// Fences increase if the clocks agree better than the time between two grants.
constexpr Fence tolerable_us = 500'000;

class QuorumAdmin final : public LockAdmin {
 public:
  explicit QuorumAdmin(std::vector<std::unique_ptr<LockAdmin>> nodes)
      : nodes_{std::move(nodes)}, all_(nodes_.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    const auto answers =
        ask<LockReport>([&](std::size_t node,
                            const CallLimit& share) { return nodes_[node]->inspect(name, share); },
                        limit);
    if (count<LockReport>(answers) < majority(nodes_.size())) return summary(answers);
    std::vector<LockReport> reports;
    for (const auto& each : answers) {
      if (const auto* report = given<LockReport>(each)) reports.push_back(*report);
    }
    return merged(name, reports, nodes_.size());
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    // A node that has the lock and has forgotten its runs must not count as one that lacks it.
    const auto wider = which == Listed::remembered ? Listed::known : which;
    const auto answers = ask<Listing>(
        [&](std::size_t node, const CallLimit& share) -> Result<Listing> {
          auto listing = nodes_[node]->list(pattern, wider, each_answer, share);
          // A node with an incomplete list would seem to have lost locks.
          if (listing && listing->missing) return *std::move(listing->missing);
          return listing;
        },
        limit);
    const auto whole = count<Listing>(answers);
    if (whole < majority(nodes_.size())) return summary(answers);
    Listing result;
    struct Seen {
      std::vector<LockReport> reports;
      std::vector<UnreadLock> unread;
    };
    std::map<LockName, Seen> by_name;
    for (const auto& each : answers) {
      const auto* listing = given<Listing>(each);
      if (listing == nullptr) continue;
      for (const auto& report : listing->locks) by_name[report.name].reports.push_back(report);
      for (const auto& lock : listing->unread) by_name[lock.name].unread.push_back(lock);
      if (!listing->doubt.empty()) result.doubt = listing->doubt;
    }
    for (auto& [name, seen] : by_name) {
      // A node that could not read it is silent about it. For the others it is free.
      auto& [reports, unread] = seen;
      const auto answered = whole - unread.size();
      if (answered < majority(nodes_.size())) {
        if (const auto end = result.add_unread(name, unread.front().fault)) return *end;
        continue;
      }
      while (reports.size() < answered) {
        reports.push_back({name, std::nullopt, {}, std::nullopt, {}});
      }
      if (auto end = result.add(merged(name, reports, nodes_.size()), which)) return *end;
      if (!unread.empty() && result.doubt.empty()) result.doubt = unread.front().why();
    }
    if (whole < nodes_.size()) {
      result.doubt =
          summary(answers).why +
          ": locks and waiters that only a minority has may be shown, and some that only "
          "those servers know are missing";
    }
    return result;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    const auto answers = ask<Removed, Removal>(
        [&](std::size_t node, const CallLimit& share) {
          return nodes_[node]->force_release(name, shown, by, share);
        },
        limit);
    // With fewer than this many nodes left, the holders have lost their majority.
    const auto needed = majority(nodes_.size());
    if (count<Removed>(answers) > 0 &&
        count<Removed>(answers) + count<Changed>(answers) >= needed) {
      return Removal{Removed{}};
    }
    if (count<Changed>(answers) < needed) return summary(answers);
    for (const auto& each : answers) {
      const auto* changed = given<Changed>(each);
      if (changed != nullptr && changed->holder) return Removal{*changed};
    }
    return Removal{Changed{}};
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& holders,
                                  const std::string& why, const CallLimit& limit) override {
    const auto answers = ask<std::size_t>(
        [&](std::size_t node, const CallLimit& share) {
          return nodes_[node]->ask_to_stop(name, holders, why, share);
        },
        limit);
    if (count<std::size_t>(answers) < majority(nodes_.size())) return summary(answers);
    std::size_t most = 0;
    for (const auto& each : answers) {
      if (const auto* asked = given<std::size_t>(each)) most = std::max(most, *asked);
    }
    return most;
  }

  LastWord await_last_word(const LockName& name, const CallLimit& limit) override {
    FanOut<LastWord> fan_out{all_, nodes_.size(),
                             [&](std::size_t node, const CallLimit& share) {
                               return nodes_[node]->await_last_word(name, share);
                             },
                             limit};
    const auto heard = [](const auto& all) {
      return std::find(all.begin(), all.end(), LastWord::stopped) != all.end();
    };
    return heard(fan_out.wait(heard)) ? LastWord::stopped : LastWord::silence;
  }

 private:
  /// The answers of all nodes; once a majority says `Good`, does not wait for late ones.
  template <class Good, class Answer = Good>
  Answers<Result<Answer>> ask(typename FanOut<Result<Answer>>::Ask question,
                              const CallLimit& limit) {
    FanOut<Result<Answer>> fan_out{all_, nodes_.size(), std::move(question), limit};
    fan_out.wait([&](const auto& all) {
      return count<Good>(all) >= majority(nodes_.size()) || late(all).empty();
    });
    fan_out.linger(Deadline::after(base::now(), for_the_late));
    return fan_out.end();
  }

  std::vector<std::unique_ptr<LockAdmin>> nodes_;
  std::vector<std::size_t> all_;
};

bool any_fails(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.verdict == Verdict::fail; });
}

Finding enough_fit(const Answers<Findings>& answers) {
  std::size_t fit = 0;
  for (const auto& each : answers) {
    if (each && !any_fails(*each)) ++fit;
  }
  const bool enough = fit >= majority(answers.size());
  const bool all = fit == answers.size();
  const char* advice = "";
  if (!enough) advice = "no lock can be taken until a majority is fit";
  if (enough && !all) advice = "repair the others before one more fails";
  return {enough ? (all ? Verdict::ok : Verdict::warn) : Verdict::fail, "majority",
          fmt::format("{} of {} servers are fit", fit, answers.size()), advice};
}

Finding distinct(const std::vector<Claim>& claims, const Answers<Attempt>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* busy = given<Busy>(answers[i]);
    if (busy == nullptr || !busy->holder) continue;
    for (std::size_t j = 0; j < claims.size(); ++j) {
      if (busy->holder->token != claims[j].token.text()) continue;
      return {Verdict::fail, "distinct",
              fmt::format("{} and {} are the same server", std::min(i, j) + 1, std::max(i, j) + 1),
              "name servers that fail independently of each other"};
    }
  }
  const auto told_apart = count<Granted>(answers);
  if (told_apart == answers.size()) return {Verdict::ok, "distinct", "all of them", ""};
  return {Verdict::unknown, "distinct", "not all of them could be asked, or the lock is held", ""};
}

Finding clocks(const Answers<Attempt>& answers) {
  std::vector<Fence> times;
  for (const auto& each : answers) {
    const auto* granted = given<Granted>(each);
    if (granted != nullptr) times.push_back(granted->lease.fence);
  }
  if (times.size() < 2) return {Verdict::unknown, "clocks", "too few could be asked", ""};
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const bool fine = *last - *first <= tolerable_us;
  return {fine ? Verdict::ok : Verdict::warn, "clocks",
          fmt::format("the servers agree within {} ms", (*last - *first) / 1000 + 1),
          fine ? "" : "a server that lost its data may give fences that are too low: run NTP"};
}

}  // namespace

std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes) {
  return std::make_unique<QuorumAdmin>(std::move(nodes));
}

Findings examine(std::vector<std::unique_ptr<QuorumNode>> nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit) {
  std::vector<std::size_t> everyone(nodes.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  const auto half = Deadline::after(base::now(), limit.until.left(base::now()) / 2);
  FanOut<Findings> alone{everyone, nodes.size(), examine_node, limit.at_most(half)};
  alone.wait([](const auto&) { return false; });
  const auto& each = alone.end();

  Findings findings{enough_fit(each)};
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    claims.push_back(trial_claim(name));
  }
  FanOut<Attempt> together{everyone, nodes.size(),
                           [&](std::size_t node, const CallLimit& share) {
                             return nodes[node]->try_acquire(claims[node], share);
                           },
                           limit};
  together.wait([](const auto&) { return false; });
  const auto& grants = together.end();
  findings.push_back(distinct(claims, grants));
  findings.push_back(clocks(grants));
  for (const auto node : everyone) {
    if (given<Granted>(grants[node]) != nullptr)
      (void)nodes[node]->release(name, claims[node].token, {}, limit);
  }

  for (const auto node : everyone) {
    for (Finding finding : each[node].value_or(Findings{})) {
      finding.subject = fmt::format("{} {}", node + 1, finding.subject);
      // One node may fail: the majority counts.
      if (finding.verdict == Verdict::fail) finding.verdict = Verdict::warn;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace store::quorum
