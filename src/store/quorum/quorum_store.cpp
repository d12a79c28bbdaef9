#include "store/quorum/quorum_store.hpp"

#include <algorithm>

#include "os/random.hpp"
#include "store/quorum/nodes.hpp"
#include "store/quorum/quorum_listener.hpp"
#include "store/quorum/tally.hpp"

namespace store::quorum {
namespace {

// Refreshing is not what anybody waits for.
constexpr Millis for_a_refresh{500};
constexpr Millis soon{1'000};
// When nobody got a majority: at random, so that the same ones do not meet again.
constexpr int most_splits = 6;
constexpr std::int64_t shortest_pause = 5;
constexpr std::int64_t longest_pause = 40;
// Between a waiter's questions.
constexpr std::int64_t soonest = 50;
constexpr std::int64_t latest = 150;

class QuorumStore final : public LockStore {
 public:
  explicit QuorumStore(std::vector<std::unique_ptr<QuorumNode>> nodes) : nodes_{std::move(nodes)} {}

  Attempt try_acquire(const Claim& claim, const Patience& patience) override;
  Turn await_turn(const Claim& claim, const Patience& patience) override;
  void withdraw(const Claim& claim, const Patience& patience) override;
  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const Patience& patience) override;
  Release release(const LockName& name, const Token& token, Millis min_hold,
                  const Patience& patience) override;
  Standing check(const LockName& name, const Token& token, const Patience& patience) override;
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override;
  void confirm_stopped(const LockName& name, const Notice& notice,
                       const Patience& patience) override;

 private:
  Attempt try_once(const Claim& claim, const Patience& patience);
  bool confirm(const Lease& lease, const Answers<Attempt>& grants, const Patience& patience);

  Nodes nodes_;
};

Attempt QuorumStore::try_acquire(const Claim& claim, const Patience& patience) {
  for (int tries = 1;; ++tries) {
    auto attempt = try_once(claim, patience);
    const auto* busy = std::get_if<Busy>(&attempt);
    const bool split = busy != nullptr && !busy->occupant;
    if (!split || tries == most_splits || patience.until.passed(base::now())) {
      if (busy == nullptr || claim.on_busy == OnBusy::give_up) return attempt;
      return Queued{busy->occupant, 0, std::nullopt};
    }
    const Millis pause{os::random_between(shortest_pause, longest_pause)};
    os::wait_any({patience.interrupt}, Deadline::after(base::now(), pause));
  }
}

Attempt QuorumStore::try_once(const Claim& claim, const Patience& patience) {
  const Claim alone{claim.name, claim.token, claim.ttl, OnBusy::give_up};
  const auto began = base::now();
  Round<Attempt> round{nodes_.all(), nodes_.size(),
                       [&](std::size_t node, const Patience& share) {
                         return nodes_[node].try_acquire(alone, share);
                       },
                       patience};
  const auto first =
      round.wait([](const auto& all) { return decided<Granted>(all, unanswered(all)); });
  auto lease = granted(first);
  // Those who are late answer meanwhile.
  const bool ours = lease && confirm(*lease, first, patience);
  round.linger(nodes_.last_call(first, began));
  const auto answers = round.end();
  nodes_.remember(answers);
  if (ours) {
    // Until all have it, one more failure would matter: the first refresh comes soon.
    if (count<Granted>(answers) < nodes_.size()) {
      lease->asked_at -= std::max(lease->ttl.length() / 3 - soon, Millis{0});
    }
    return Granted{*std::move(lease)};
  }
  if (count<Granted>(answers) + unanswered(answers) + count<Fault>(answers) > 0) {
    withdraw(claim, patience);
  }
  auto why = not_granted(answers);
  switch (why.why) {
    case NotGranted::Why::fault: return std::move(why.fault);
    case NotGranted::Why::busy: return Busy{std::move(why.occupant), 0};
    case NotGranted::Why::split: break;
  }
  return Busy{std::nullopt, 0};
}

bool QuorumStore::confirm(const Lease& lease, const Answers<Attempt>& grants,
                          const Patience& patience) {
  Answers<Renewal> confirmed(nodes_.size());
  std::vector<std::size_t> lower;
  for (const auto node : nodes_.all()) {
    const auto* grant = grants[node] ? std::get_if<Granted>(&*grants[node]) : nullptr;
    if (grant == nullptr) continue;
    if (grant->lease.fence == lease.fence) {
      confirmed[node] =
          Renewed{lease.valid_until, lease.asked_at};  // its grant was the confirmation
    } else {
      lower.push_back(node);
    }
  }
  const auto already = count<Renewed>(confirmed);
  const auto needed = majority(nodes_.size());
  const auto enough = [&](const auto& all) { return already + count<Renewed>(all) >= needed; };
  Round<Renewal> round{lower, nodes_.size(),
                       [&](std::size_t node, const Patience& share) {
                         return nodes_[node].raise_fence(lease, share);
                       },
                       patience};
  round.wait(enough);
  // They have answered a moment ago, so they will again.
  round.linger(Deadline::after(base::now(), Nodes::for_the_reliable));
  return enough(round.end());
}

Turn QuorumStore::await_turn(const Claim& /*claim*/, const Patience& patience) {
  const auto next = Deadline::after(base::now(), Millis{os::random_between(soonest, latest)});
  os::wait_any({patience.interrupt}, std::min(next, patience.until));
  if (next.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

void QuorumStore::withdraw(const Claim& claim, const Patience& patience) {
  (void)nodes_.ask<Released, Release>(
      [&](std::size_t node, const Patience& share) -> Release {
        nodes_[node].withdraw(claim, share);
        return Released{};
      },
      Millis{0}, patience);
}

Renewal QuorumStore::renew(const LockName& name, const Token& token, Ttl ttl,
                           const Patience& patience) {
  const Moment asked_at = base::now();
  const auto answers = nodes_.ask<Renewed, Renewal>(
      [&](std::size_t node, const Patience& share) {
        auto renewal = nodes_[node].renew(name, token, ttl, share);
        if (std::holds_alternative<NotOurs>(renewal)) {
          // A node that lost its data, or that never heard us: it gets the lock for the next round,
          // and does not count in this one.
          (void)nodes_[node].try_acquire({name, token, ttl, OnBusy::give_up}, share);
        }
        return renewal;
      },
      for_a_refresh, patience);
  const auto needed = majority(nodes_.size());
  if (count<Renewed>(answers) >= needed) return Renewed{validity(asked_at, ttl), asked_at};
  if (count<NotOurs>(answers) > nodes_.size() - needed) {
    return NotOurs{"a majority of the servers does not have it any more"};
  }
  return summary(answers);
}

Release QuorumStore::release(const LockName& name, const Token& token, Millis min_hold,
                             const Patience& patience) {
  const auto answers = nodes_.ask<Released, Release>(
      [&](std::size_t node, const Patience& share) {
        return nodes_[node].release(name, token, min_hold, share);
      },
      Millis{0}, patience);
  const auto needed = majority(nodes_.size());
  if (count<Released>(answers) >= needed) return Released{};
  if (count<NotOurs>(answers) > nodes_.size() - needed) {
    return NotOurs{"a majority of the servers does not have it any more"};
  }
  return summary(answers);
}

Standing QuorumStore::check(const LockName& name, const Token& token, const Patience& patience) {
  const auto answers = nodes_.ask<StillOurs, Standing>(
      [&](std::size_t node, const Patience& share) {
        return nodes_[node].check(name, token, share);
      },
      Millis{0}, patience);
  if (const auto ours = standing(answers)) return *ours;
  if (count<Elsewhere>(answers) <= nodes_.size() - majority(nodes_.size())) return summary(answers);
  for (const auto& each : answers) {
    const auto* elsewhere = each ? std::get_if<Elsewhere>(&*each) : nullptr;
    if (elsewhere != nullptr && elsewhere->occupant) return *elsewhere;
  }
  return Elsewhere{};
}

std::unique_ptr<Listener> QuorumStore::listener(const LockName& name, const Token& token) {
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const auto node : nodes_.all()) listeners.push_back(nodes_[node].listener(name, token));
  return open_listener(std::move(listeners));
}

void QuorumStore::confirm_stopped(const LockName& name, const Notice& notice,
                                  const Patience& patience) {
  const auto [node, original] = unwrapped(notice);
  if (node < nodes_.size()) nodes_[node].confirm_stopped(name, original, patience);
}

}  // namespace

std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<QuorumNode>> nodes) {
  return std::make_unique<QuorumStore>(std::move(nodes));
}

}  // namespace store::quorum
