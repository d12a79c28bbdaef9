#include "store/quorum/quorum_admin.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "store/quorum/round.hpp"
#include "store/quorum/tally.hpp"

namespace store::quorum {
namespace {

// Somebody looks at the screen: long enough for a node far away or busy, not for one that is dead.
// What is taken away there too late stays until its TTL is over.
constexpr Millis for_the_late{500};

using Inspection = std::variant<LockReport, Fault>;
using Listing = std::variant<std::vector<LockReport>, Fault>;

class QuorumAdmin final : public LockAdmin {
 public:
  explicit QuorumAdmin(std::vector<std::unique_ptr<LockAdmin>> nodes)
      : nodes_{std::move(nodes)}, everybody_(nodes_.size()) {
    std::iota(everybody_.begin(), everybody_.end(), std::size_t{0});
  }

  std::variant<LockReport, Fault> inspect(const LockName& name, const CallLimit& limit) override;
  std::variant<std::vector<LockReport>, Fault> list(const std::string& pattern,
                                                    const CallLimit& limit) override;
  Removal force_release(const LockName& name, const std::vector<Token>& shown,
                        const std::string& by, const CallLimit& limit) override;
  Asked ask_to_stop(const LockName& name, const std::vector<Token>& holders, const std::string& why,
                    const CallLimit& limit) override;
  LastWord await_last_word(const LockName& name, const CallLimit& limit) override;

 private:
  template <class Good, class Answer>
  Answers<Answer> ask(typename Round<Answer>::Ask question, const CallLimit& limit) {
    Round<Answer> round{everybody_, nodes_.size(), std::move(question), limit};
    round.wait([&](const auto& all) {
      return count<Good>(all) >= majority(nodes_.size()) || late(all).empty();
    });
    round.linger(Deadline::after(base::now(), for_the_late));
    return round.end();
  }

  std::vector<std::unique_ptr<LockAdmin>> nodes_;
  std::vector<std::size_t> everybody_;
};

/// Holders that a majority of `of` nodes has, or may have: those that did not answer could.
LockReport merged(const LockName& name, const std::vector<LockReport>& reports, std::size_t of) {
  LockReport result{name, std::nullopt, {}, std::nullopt, {}};
  std::map<std::string, std::vector<HolderReport>> seen;
  const auto silent = of - reports.size();
  for (const LockReport& report : reports) {
    if (report.fence) result.fence = std::max(result.fence.value_or(0), *report.fence);
    for (const HolderReport& holder : report.holders) {
      seen[holder.occupant.token].push_back(holder);
      if (seen[holder.occupant.token].size() + silent != majority(of)) continue;
      result.holders.push_back(holder);
      result.mode = report.mode;
    }
  }
  for (HolderReport& holder : result.holders) {
    std::vector<Fence> numbers;
    for (const HolderReport& each : seen[holder.occupant.token]) {
      if (each.fence) numbers.push_back(*each.fence);
    }
    holder.fence = fence_among(numbers, of);
  }
  // A node that was late has given a number that counts nowhere.
  if (!result.holders.empty()) result.fence = result.holders.front().fence;
  return result;
}

Inspection QuorumAdmin::inspect(const LockName& name, const CallLimit& limit) {
  const auto answers = ask<LockReport, Inspection>(
      [&](std::size_t node, const CallLimit& share) { return nodes_[node]->inspect(name, share); },
      limit);
  if (count<LockReport>(answers) < majority(nodes_.size())) return summary(answers);
  std::vector<LockReport> reports;
  for (const auto& each : answers) {
    if (each && std::holds_alternative<LockReport>(*each)) {
      reports.push_back(std::get<LockReport>(*each));
    }
  }
  return merged(name, reports, nodes_.size());
}

Listing QuorumAdmin::list(const std::string& pattern, const CallLimit& limit) {
  const auto answers = ask<std::vector<LockReport>, Listing>(
      [&](std::size_t node, const CallLimit& share) { return nodes_[node]->list(pattern, share); },
      limit);
  if (count<std::vector<LockReport>>(answers) < majority(nodes_.size())) return summary(answers);
  std::map<LockName, std::vector<LockReport>> by_name;
  for (const auto& each : answers) {
    if (!each || !std::holds_alternative<std::vector<LockReport>>(*each)) continue;
    for (const auto& report : std::get<std::vector<LockReport>>(*each)) {
      by_name[report.name].push_back(report);
    }
  }
  std::vector<LockReport> result;
  for (const auto& [name, reports] : by_name) {
    auto report = merged(name, reports, nodes_.size());
    if (!report.holders.empty()) result.push_back(std::move(report));
  }
  return result;
}

Removal QuorumAdmin::force_release(const LockName& name, const std::vector<Token>& shown,
                                   const std::string& by, const CallLimit& limit) {
  const auto answers = ask<Removed, Removal>(
      [&](std::size_t node, const CallLimit& share) {
        return nodes_[node]->force_release(name, shown, by, share);
      },
      limit);
  // With fewer than this many nodes left to them, the holders have no majority any more.
  const auto needed = majority(nodes_.size());
  if (count<Removed>(answers) > 0 && count<Removed>(answers) + count<Changed>(answers) >= needed) {
    return Removed{shown.size()};
  }
  if (count<Changed>(answers) < needed) return summary(answers);
  for (const auto& each : answers) {
    const auto* changed = each ? std::get_if<Changed>(&*each) : nullptr;
    if (changed != nullptr && changed->occupant) return *changed;
  }
  return Changed{};
}

Asked QuorumAdmin::ask_to_stop(const LockName& name, const std::vector<Token>& holders,
                               const std::string& why, const CallLimit& limit) {
  const auto answers = ask<std::size_t, Asked>(
      [&](std::size_t node, const CallLimit& share) {
        return nodes_[node]->ask_to_stop(name, holders, why, share);
      },
      limit);
  if (count<std::size_t>(answers) < majority(nodes_.size())) return summary(answers);
  std::size_t most = 0;
  for (const auto& each : answers) {
    if (each && std::holds_alternative<std::size_t>(*each)) {
      most = std::max(most, std::get<std::size_t>(*each));
    }
  }
  return most;
}

LastWord QuorumAdmin::await_last_word(const LockName& name, const CallLimit& limit) {
  Round<LastWord> round{everybody_, nodes_.size(),
                        [&](std::size_t node, const CallLimit& share) {
                          return nodes_[node]->await_last_word(name, share);
                        },
                        limit};
  const auto heard = [](const auto& all) {
    return std::find(all.begin(), all.end(), LastWord::stopped) != all.end();
  };
  return heard(round.wait(heard)) ? LastWord::stopped : LastWord::silence;
}

}  // namespace

std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes) {
  return std::make_unique<QuorumAdmin>(std::move(nodes));
}

}  // namespace store::quorum
