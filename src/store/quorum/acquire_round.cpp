#include "store/quorum/acquire_round.hpp"

#include <algorithm>

namespace store::quorum {
namespace {

// While a node does not have the lock, one more failure would matter: the first refresh, which
// heals that node, comes this soon.
constexpr Millis until_healing{1'000};

/// The nodes that did not answer.
std::vector<std::size_t> take_back(Nodes& nodes, const std::vector<std::size_t>& from,
                                   const Claim& claim, Millis for_the_late,
                                   const CallLimit& limit) {
  FanOut<Release> fan_out{from, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) {
                            return nodes[node].release(claim.name, claim.token, Millis{0}, share);
                          },
                          limit};
  fan_out.linger(Deadline::after(base::now(), for_the_late));
  const auto& answers = fan_out.end();
  std::vector<std::size_t> unheard;
  for (const auto node : from) {
    const bool heard = answers[node] && !std::holds_alternative<Fault>(*answers[node]);
    if (!heard) unheard.push_back(node);
  }
  return unheard;
}

/// Gives the lease's fence to the nodes whose number is lower. Waits until `enough` nodes have it,
/// then a while for the others; the number of nodes that have it.
std::size_t raise(Nodes& nodes, const Lease& lease, const Answers<Attempt>& grants,
                  std::size_t enough, const CallLimit& limit) {
  std::size_t already = 0;
  std::vector<std::size_t> lower;
  for (const auto node : nodes.all()) {
    const auto* grant = given<Granted>(grants[node]);
    if (grant == nullptr) continue;
    if (grant->lease.fence == lease.fence) ++already;  // its grant was the confirmation
    if (grant->lease.fence < lease.fence) lower.push_back(node);
  }
  FanOut<Renewal> fan_out{lower, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) {
                            return nodes[node].raise_fence(lease, share);
                          },
                          limit};
  fan_out.wait([&](const auto& all) { return already + count<Renewed>(all) >= enough; });
  // These nodes answered a moment ago, so they will answer again.
  fan_out.linger(Deadline::after(base::now(), Nodes::for_the_reliable));
  return already + count<Renewed>(fan_out.end());
}

}  // namespace

Attempt enter(LockStore& node, const Claim& claim, const CallLimit& limit) {
  auto attempt = node.try_acquire(claim, limit);
  const auto* busy = std::get_if<Busy>(&attempt);
  if (busy == nullptr || !busy->occupant) return attempt;
  Claim earlier = claim;
  earlier.token = Token::foreign(busy->occupant->token);
  if (!earlier.token.same_claim(claim.token)) return attempt;
  node.withdraw(earlier, limit);
  return node.try_acquire(claim, limit);
}

void take_back(Nodes& nodes, const Claim& claim, const CallLimit& limit) {
  (void)take_back(nodes, nodes.all(), claim, Nodes::for_a_last_word, limit);
}

AcquireRound acquire_round(Nodes& nodes, const std::vector<std::size_t>& asked, const Claim& claim,
                           const CallLimit& limit) {
  const auto began = base::now();
  const Claim alone{claim.name, claim.token, claim.ttl, OnBusy::give_up};
  FanOut<Attempt> fan_out{
      asked, nodes.size(),
      [&](std::size_t node, const CallLimit& share) { return enter(nodes[node], alone, share); },
      limit};
  const auto first =
      fan_out.wait([](const auto& all) { return decided<Granted>(all, late(all).size()); });
  auto lease = granted(first);
  const auto most = majority(nodes.size());
  // The late nodes answer meanwhile.
  const bool ours = lease && raise(nodes, *lease, first, most, limit) >= most;
  fan_out.linger(nodes.last_call(late(first), began));
  const auto answers = fan_out.end();
  nodes.remember(answers);
  if (ours) {
    // A majority that is asked later may consist of these nodes.
    raise(nodes, *lease, since(first, answers), 0, limit);
    if (count<Granted>(answers) < nodes.size()) {
      lease->asked_at -= std::max(lease->ttl.length() / 3 - until_healing, Millis{0});
    }
    return {Granted{*std::move(lease)}, {}};
  }
  std::vector<std::size_t> perhaps;
  for (const auto node : nodes.all()) {
    if (may_have_it(answers[node])) perhaps.push_back(node);
  }
  // The next try of the same client finds what is left, and takes it back then.
  const bool last = claim.on_busy == OnBusy::give_up;
  auto unsettled =
      take_back(nodes, perhaps, alone, last ? Nodes::for_a_last_word : Nodes::for_others, limit);
  return {why_not(answers), std::move(unsettled)};
}

}  // namespace store::quorum
