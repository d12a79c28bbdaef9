#include "store/quorum/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "store/quorum/round.hpp"
#include "store/quorum/tally.hpp"

namespace store::quorum {
namespace {

using Verdict = Finding::Verdict;
using Servers = std::vector<std::unique_ptr<QuorumNode>>;

constexpr Millis lease{10'000};
// Fences grow as long as the clocks agree better than the time between two grants.
constexpr Fence tolerable_us = 500'000;

bool any_fails(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.verdict == Verdict::fail; });
}

Finding majority_of(const Answers<Findings>& answers) {
  std::size_t fit = 0;
  for (const auto& each : answers) {
    if (each && !any_fails(*each)) ++fit;
  }
  const bool enough = fit >= majority(answers.size());
  const bool all = fit == answers.size();
  const char* advice = "";
  if (!enough) advice = "no lock can be had until a majority is fit";
  if (enough && !all) advice = "mend the others before one more fails";
  return {enough ? (all ? Verdict::ok : Verdict::warn) : Verdict::fail, "majority",
          fmt::format("{} of {} servers are fit", fit, answers.size()), advice};
}

Finding distinct(const std::vector<Claim>& claims, const Answers<Attempt>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* busy = answers[i] ? std::get_if<Busy>(&*answers[i]) : nullptr;
    if (busy == nullptr || !busy->occupant) continue;
    for (std::size_t j = 0; j < claims.size(); ++j) {
      if (busy->occupant->token != claims[j].token.text()) continue;
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
    const auto* granted = each ? std::get_if<Granted>(&*each) : nullptr;
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

Findings examine(Servers nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit) {
  std::vector<std::size_t> everybody(nodes.size());
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  const auto half = Deadline::after(base::now(), limit.until.left(base::now()) / 2);
  Round<Findings> alone{everybody, nodes.size(), examine_node, limit.at_most(half)};
  alone.wait([](const auto&) { return false; });
  const auto& each = alone.end();

  Findings findings{majority_of(each)};
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    claims.push_back(
        {name, Token::mint(*Label::from("doctor")), *Ttl::from(lease), OnBusy::give_up});
  }
  Round<Attempt> together{everybody, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) {
                            return nodes[node]->try_acquire(claims[node], share);
                          },
                          limit};
  together.wait([](const auto&) { return false; });
  const auto& grants = together.end();
  findings.push_back(distinct(claims, grants));
  findings.push_back(clocks(grants));
  for (const auto node : everybody) {
    const auto* granted = grants[node] ? std::get_if<Granted>(&*grants[node]) : nullptr;
    if (granted != nullptr) (void)nodes[node]->release(name, claims[node].token, {}, limit);
  }

  for (const auto node : everybody) {
    for (Finding finding : each[node].value_or(Findings{})) {
      finding.subject = fmt::format("{} {}", node + 1, finding.subject);
      // One of them may fail: what counts is the majority.
      if (finding.verdict == Verdict::fail) finding.verdict = Verdict::warn;
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace store::quorum
