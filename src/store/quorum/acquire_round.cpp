#include "store/quorum/acquire_round.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/rules/slot.hpp"

namespace store::quorum {
namespace {

// While a node lacks the lock, one more failure could lose the majority. So the first refresh,
// which heals that node, comes this early.
constexpr Millis until_healing{250};
// A node that learns of a release too late keeps the lock until its TTL is over.
constexpr Millis for_a_last_word{500};
// A failed try is known before its reason: whether others hold the lock (75) or too few servers
// answer (69). A busy machine needs this long for an answer.
constexpr Millis to_learn_why{500};
// Most nodes have answered, and several clients have some of them each. A late node may decide, but
// a silent one must not delay the release of the others. A waiter must hear the others to sleep
// there; a late node is asked again with the next bid.
constexpr Millis for_a_late_node{100};
// All nodes are asked to issue the same fence, so that none needs a correction. They do if their
// clocks agree with ours to within this, less the latency. The fence must not lie in their past
// (for --min-hold it is the time of the grant).
constexpr std::uint64_t ahead_us = 50'000;
// The same client's next try cleans up the rest.
constexpr Millis for_a_next_try{50};

std::vector<std::size_t> without(std::vector<std::size_t> all,
                                 const std::vector<std::size_t>& some) {
  std::erase_if(all, [&](std::size_t node) {
    return std::find(some.begin(), some.end(), node) != some.end();
  });
  return all;
}

template <class Answer>
bool heard(const std::optional<Answer>& answer) {
  return answer && !std::holds_alternative<Fault>(*answer);
}

/// How long to wait for a node that must withdraw a claim.
enum class Patience {
  /// No longer than the same client's next try waits anyway.
  next_try,
  /// As long as answering nodes may take: a silent one must not delay a client that has an answer.
  answered,
  /// Too few nodes answered, which the user sees. A slow one is the likeliest to have granted the
  /// claim, and receives the connection and the withdrawal late.
  too_few_answered,
};

/// Returns the nodes that did not answer.
std::vector<std::size_t> take_back(Nodes& nodes, const std::vector<std::size_t>& from,
                                   const Claim& claim, Patience patience, const CallLimit& limit) {
  FanOut<Release> fan_out{from, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) -> Release {
                            if (claim.on_busy == OnBusy::give_up) {
                              return nodes[node].release(claim.name, claim.token, no_run(claim),
                                                         share);
                            }
                            // The claim may be queued, and the waiters behind it must learn of its
                            // end.
                            nodes[node].withdraw(claim, share);
                            return Released{};
                          },
                          limit};
  const auto began = base::now();
  const auto at_most =
      Deadline::after(began, patience == Patience::next_try ? for_a_next_try : for_a_last_word);
  const auto until = nodes.last_call(Nodes::Question::other, began);
  fan_out.linger([&](std::size_t node, std::optional<Moment> connected) {
    if (patience == Patience::too_few_answered) return at_most;
    return std::min(until(node, connected), at_most);
  });
  const auto& answers = fan_out.end();
  std::vector<std::size_t> unheard;
  for (const auto node : from) {
    if (!heard(answers[node])) unheard.push_back(node);
  }
  return unheard;
}

/// Whether the node and its majority know the same runs for the slot.
bool agree_on_the_run(const Lease& one, const Lease& other) {
  return rules::number_of(one) == rules::number_of(other);
}

struct Confirmed {
  /// They have the lease's fence: those with that grant, and those with a lower number that adopted
  /// it.
  std::vector<std::size_t> nodes;
  /// They were told of it, and did not answer.
  std::vector<std::size_t> unheard;
};

/// Waits until `enough` have the lease's fence, then a while for the others.
Confirmed confirm(Nodes& nodes, const Claim& claim, const Lease& lease,
                  const Answers<Attempt>& grants, std::size_t enough, const CallLimit& limit) {
  std::vector<std::size_t> confirmed;
  std::vector<std::size_t> told;
  for (const auto node : nodes.all()) {
    const auto* grant = given<Granted>(grants[node]);
    if (grant == nullptr) continue;
    // A node with a later fence keeps that; tell it only about the run.
    const bool agree = agree_on_the_run(grant->lease, lease);
    if (agree && grant->lease.fence == lease.fence) confirmed.push_back(node);
    if (!agree || grant->lease.fence < lease.fence) told.push_back(node);
  }
  FanOut<Renewal> fan_out{told, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) {
                            return nodes[node].raise_fence(claim, lease, share);
                          },
                          limit};
  fan_out.wait([&](const auto& all) { return confirmed.size() + count<Renewed>(all) >= enough; });
  // These nodes answered a moment ago, so they will answer again.
  fan_out.linger(Deadline::after(base::now(), LastCall::longest));
  const auto& answers = fan_out.end();
  std::vector<std::size_t> unheard;
  for (const auto node : told) {
    if (given<Renewed>(answers[node]) != nullptr) confirmed.push_back(node);
    if (!heard(answers[node])) unheard.push_back(node);
  }
  return {std::move(confirmed), std::move(unheard)};
}

enum class Servers { one, two, unclear };

/// Tells apart two nodes that granted the claim. Has the second one hold the lock by a token that
/// no other node ever receives, then asks the first one which token it sees. `two` was asked for
/// the claim again after that.
Servers told_apart(Nodes& nodes, const Nodes::Pair& pair, const Claim& claim,
                   Answers<Attempt>& answers, const CallLimit& limit) {
  LockStore& first = nodes[pair.first];
  LockStore& second = nodes[pair.second];
  Claim marked = claim;
  marked.token = claim.token.another();
  marked.slot.reset();
  marked.on_busy = OnBusy::give_up;
  (void)second.release(claim.name, claim.token, no_run(claim), limit);
  (void)second.try_acquire(marked, limit);
  const auto seen = first.check(claim.name, claim.token, limit);
  // Of several readers a node names another one.
  const bool finds_the_mark =
      claim.mode.kind == Mode::Kind::shared && !std::holds_alternative<StillOurs>(seen) &&
      std::holds_alternative<StillOurs>(first.check(claim.name, marked.token, limit));
  (void)second.release(claim.name, marked.token, no_run(marked), limit);
  if (std::holds_alternative<StillOurs>(seen)) {
    answers[pair.second] = second.try_acquire(claim, limit);
    return Servers::two;
  }
  const auto* elsewhere = std::get_if<Elsewhere>(&seen);
  const bool sees_the_mark =
      elsewhere != nullptr && elsewhere->holder && elsewhere->holder->token == marked.token.text();
  return sees_the_mark || finds_the_mark ? Servers::one : Servers::unclear;
}

/// Finds two nodes that are one server, which would count twice. Costs nothing unless two nodes say
/// that the same grant was made before. Nodes that cannot be told apart do not count.
std::optional<Nodes::Pair> same_server(Nodes& nodes, const Claim& claim, Answers<Attempt>& answers,
                                       const CallLimit& limit) {
  const auto pairs = alike(answers);
  // A later request finds the same number on both as well.
  for (std::size_t one = 0; one < answers.size(); ++one) {
    for (std::size_t other = one + 1; other < answers.size(); ++other) {
      const Nodes::Pair pair{one, other};
      const bool both = given<Granted>(answers[one]) && given<Granted>(answers[other]);
      const bool is_alike = std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
      if (both && !is_alike) nodes.note_distinct(pair);
    }
  }
  for (const auto& pair : pairs) {
    const bool both = given<Granted>(answers[pair.first]) && given<Granted>(answers[pair.second]);
    if (!both || nodes.differ(pair)) continue;
    switch (told_apart(nodes, pair, claim, answers, limit)) {
      case Servers::one: return pair;
      case Servers::two: nodes.note_distinct(pair); break;
      case Servers::unclear:
        answers[pair.first] = answers[pair.second] =
            Fault{Fault::Kind::silent, "it cannot be told from another server"};
    }
  }
  return std::nullopt;
}

Fault counted_twice(const Nodes::Pair& pair) {
  return {Fault::Kind::misconfigured,
          fmt::format("servers {} and {} are the same one; a quorum takes servers that fail "
                      "independently of each other",
                      pair.first + 1, pair.second + 1)};
}

}  // namespace

Attempt enter(LockStore& node, const Claim& claim, const CallLimit& limit) {
  auto attempt = node.try_acquire(claim, limit);
  const auto* busy = std::get_if<Busy>(&attempt);
  const auto* queued = std::get_if<Queued>(&attempt);
  const auto holder = busy != nullptr     ? busy->holder
                      : queued != nullptr ? queued->holder
                                          : std::nullopt;
  if (!holder || holder->token == claim.token.text()) return attempt;
  Claim earlier = claim;
  earlier.token = Token::foreign(holder->token);
  if (!earlier.token.same_claim(claim.token)) return attempt;
  node.withdraw(earlier, limit);
  return node.try_acquire(claim, limit);
}

std::vector<std::size_t> raise(Nodes& nodes, const Claim& claim, const Lease& lease,
                               const std::vector<std::size_t>& lower, const CallLimit& limit) {
  Answers<Attempt> grants(nodes.size());
  for (const auto node : lower) {
    Lease there = lease;
    there.fence = 0;
    grants[node] = Granted{std::move(there)};
  }
  return confirm(nodes, claim, lease, grants, 0, limit).unheard;
}

std::vector<std::size_t> give_back(Nodes& nodes, const std::vector<std::size_t>& granted,
                                   const Claim& claim, const CallLimit& limit) {
  Claim alone = claim;
  alone.on_busy = OnBusy::give_up;  // so that a release is confirmed
  return take_back(nodes, granted, alone, Patience::next_try, limit);
}

void take_back(Nodes& nodes, const Claim& claim, const CallLimit& limit) {
  (void)take_back(nodes, nodes.all(), claim, Patience::answered, limit);
}

AcquireRound acquire_round(Nodes& nodes, const std::vector<std::size_t>& asked, const Claim& claim,
                           const std::optional<Token>& earlier, const CallLimit& limit) {
  const auto began = base::now();
  Claim alone = claim;
  alone.bid = claim.bid.value_or(Bid{});
  alone.bid->fence = base::wall_us() + ahead_us;
  FanOut<Attempt> fan_out{asked, nodes.size(),
                          [&](std::size_t node, const CallLimit& share) {
                            if (earlier) {
                              Claim off = alone;
                              off.token = *earlier;
                              nodes[node].withdraw(off, share);
                            }
                            return enter(nodes[node], alone, share);
                          },
                          limit};
  const auto is_decided = [](const auto& all) {
    return count<SlotDone>(all) > 0 || decided<Granted>(all, late(all).size());
  };
  fan_out.wait([&](const auto& all) { return is_decided(all) || most_told(all); });
  auto first = fan_out.wait(is_decided, Deadline::after(base::now(), for_a_late_node));
  if (const auto pair = same_server(nodes, alone, first, limit)) {
    fan_out.end();
    auto unheard = take_back(nodes, nodes.all(), alone, Patience::answered, limit);
    return {counted_twice(*pair), std::move(unheard), {}, {}};
  }
  auto lease = slot_done(first) ? std::nullopt : granted(first);
  const auto most = majority(nodes.size());
  if (!lease) {
    fan_out.wait([&](const auto& all) { return reason_is_known(all); },
                 Deadline::after(base::now(), to_learn_why));
  }
  // The late nodes answer in the meantime.
  auto confirmed =
      lease ? confirm(nodes, alone, *lease, first, most, limit).nodes : std::vector<std::size_t>{};
  const bool waits = claim.on_busy == OnBusy::queue;
  using Question = Nodes::Question;
  const auto until =
      nodes.last_call(waits && lease ? Question::granted_bid : Question::claim, began);
  const auto at_most =
      waits && !lease ? Deadline::after(base::now(), for_a_late_node) : Deadline::never();
  fan_out.linger([&](std::size_t node, std::optional<Moment> connected) {
    return std::min(until(node, connected), at_most);
  });
  auto answers = fan_out.end();
  nodes.remember(answers, began);
  for (const auto node : nodes.all()) {
    if (first[node]) answers[node] = first[node];
  }
  const bool done = slot_done(answers).has_value();
  if (confirmed.size() >= most && !done) {
    // A majority asked later may consist of these nodes.
    for (const auto node : confirm(nodes, alone, *lease, since(first, answers), 0, limit).nodes) {
      confirmed.push_back(node);
    }
    if (count<Granted>(answers) < nodes.size()) {
      lease->asked_at -= std::max(lease->ttl.length() / 3 - until_healing, Millis{0});
    }
    return {Granted{*std::move(lease)}, {}, without(nodes.all(), confirmed), std::move(answers)};
  }
  auto outcome = why_not(answers);
  if (claim.on_busy == OnBusy::queue && !done) {
    // A silent node may also hold it: a later bid finds that, or the end of the wait withdraws it.
    std::vector<std::size_t> unheard;
    if (std::holds_alternative<Fault>(outcome)) {
      std::vector<std::size_t> granted;
      for (const auto node : nodes.all()) {
        if (given<Granted>(answers[node]) != nullptr) granted.push_back(node);
      }
      unheard = give_back(nodes, granted, alone, limit);
    }
    return {std::move(outcome), std::move(unheard), {}, std::move(answers)};
  }
  std::vector<std::size_t> perhaps;
  for (const auto node : nodes.all()) {
    const bool is_queued = given<Queued>(answers[node]) != nullptr;
    if (may_have_it(answers[node]) || is_queued) perhaps.push_back(node);
  }
  auto patience = Patience::answered;
  if (std::holds_alternative<Fault>(outcome)) patience = Patience::too_few_answered;
  auto unsettled = take_back(nodes, perhaps, alone, patience, limit);
  return {std::move(outcome), std::move(unsettled), {}, std::move(answers)};
}

}  // namespace store::quorum
