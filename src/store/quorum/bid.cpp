#include "store/quorum/bid.hpp"

#include <algorithm>

namespace store::quorum {
namespace {

// Until all have the lock, one more failure would matter: the first refresh comes soon.
constexpr Millis soon{1'000};

/// Whether the node may have granted it: who was not heard may have, too.
bool may_have_it(const std::optional<Attempt>& answer) {
  if (!answer || std::holds_alternative<Granted>(*answer)) return true;
  const auto* fault = std::get_if<Fault>(&*answer);
  return fault != nullptr &&
         (fault->kind == Fault::Kind::silent || fault->kind == Fault::Kind::unusable);
}

/// Says who did not answer.
std::vector<std::size_t> take_back(Nodes& nodes, const std::vector<std::size_t>& from,
                                   const Claim& claim, Millis for_the_late,
                                   const CallLimit& limit) {
  Round<Release> round{from, nodes.size(),
                       [&](std::size_t node, const CallLimit& share) {
                         return nodes[node].release(claim.name, claim.token, Millis{0}, share);
                       },
                       limit};
  round.linger(Deadline::after(base::now(), for_the_late));
  const auto& answers = round.end();
  std::vector<std::size_t> unheard;
  for (const auto node : from) {
    const bool heard = answers[node] && !std::holds_alternative<Fault>(*answers[node]);
    if (!heard) unheard.push_back(node);
  }
  return unheard;
}

Attempt why_not(const Answers<Attempt>& answers) {
  auto why = not_granted(answers);
  switch (why.why) {
    case NotGranted::Why::fault: return std::move(why.fault);
    case NotGranted::Why::busy: return Busy{std::move(why.occupant), 0};
    case NotGranted::Why::split: break;
  }
  return Busy{std::nullopt, 0};
}

/// Gives the lease's fence to those whose number was lower. Waits until `enough` have it, then a
/// while for the others; says how many do.
std::size_t raise(Nodes& nodes, const Lease& lease, const Answers<Attempt>& grants,
                  std::size_t enough, const CallLimit& limit) {
  std::size_t already = 0;
  std::vector<std::size_t> lower;
  for (const auto node : nodes.all()) {
    const auto* grant = grants[node] ? std::get_if<Granted>(&*grants[node]) : nullptr;
    if (grant == nullptr) continue;
    if (grant->lease.fence == lease.fence) ++already;  // its grant was the confirmation
    if (grant->lease.fence < lease.fence) lower.push_back(node);
  }
  Round<Renewal> round{lower, nodes.size(),
                       [&](std::size_t node, const CallLimit& share) {
                         return nodes[node].raise_fence(lease, share);
                       },
                       limit};
  round.wait([&](const auto& all) { return already + count<Renewed>(all) >= enough; });
  // They have answered a moment ago, so they will again.
  round.linger(Deadline::after(base::now(), Nodes::for_the_reliable));
  return already + count<Renewed>(round.end());
}

/// The answers that `first` did not have yet.
Answers<Attempt> since(const Answers<Attempt>& first, Answers<Attempt> all) {
  for (std::size_t node = 0; node < all.size(); ++node) {
    if (first[node]) all[node].reset();
  }
  return all;
}

}  // namespace

Attempt enter(QuorumNode& node, const Claim& claim, const CallLimit& limit) {
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

Bid bid(Nodes& nodes, const std::vector<std::size_t>& whom, const Claim& claim,
        const CallLimit& limit) {
  const auto began = base::now();
  const Claim alone{claim.name, claim.token, claim.ttl, OnBusy::give_up};
  Round<Attempt> round{
      whom, nodes.size(),
      [&](std::size_t node, const CallLimit& share) { return enter(nodes[node], alone, share); },
      limit};
  const auto first =
      round.wait([](const auto& all) { return decided<Granted>(all, late(all).size()); });
  auto lease = granted(first);
  const auto most = majority(nodes.size());
  // Those who are late answer meanwhile.
  const bool ours = lease && raise(nodes, *lease, first, most, limit) >= most;
  round.linger(nodes.last_call(late(first), began));
  const auto answers = round.end();
  nodes.remember(answers);
  if (ours) {
    // Whoever asks later may hear of these alone.
    raise(nodes, *lease, since(first, answers), 0, limit);
    if (count<Granted>(answers) < nodes.size()) {
      lease->asked_at -= std::max(lease->ttl.length() / 3 - soon, Millis{0});
    }
    return {Granted{*std::move(lease)}, {}};
  }
  std::vector<std::size_t> perhaps;
  for (const auto node : nodes.all()) {
    if (may_have_it(answers[node])) perhaps.push_back(node);
  }
  // Who tries again finds what is left, and takes it back then.
  const bool last = claim.on_busy == OnBusy::give_up;
  auto unsettled =
      take_back(nodes, perhaps, alone, last ? Nodes::for_a_last_word : Nodes::for_others, limit);
  return {why_not(answers), std::move(unsettled)};
}

}  // namespace store::quorum
