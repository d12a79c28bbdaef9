#include "store/quorum/quorum_store.hpp"

#include <algorithm>

#include "os/host.hpp"
#include "store/quorum/bid.hpp"
#include "store/quorum/quorum_listener.hpp"
#include "store/quorum/tally.hpp"

namespace store::quorum {
namespace {

// Refreshing is not what anybody waits for; for the end of a run somebody does, but a lock that is
// not given back on one server is a failure less that the others may have.
constexpr Millis for_a_refresh{500};
constexpr Millis for_a_release{100};
// When nobody got a majority: at random, so that the same ones do not meet again.
constexpr int most_splits = 6;
constexpr std::int64_t shortest_pause = 5;
constexpr std::int64_t longest_pause = 40;
// Between a waiter's questions.
constexpr std::int64_t soonest = 50;
constexpr std::int64_t latest = 150;

class QuorumStore final : public LockStore {
 public:
  explicit QuorumStore(std::vector<std::unique_ptr<QuorumNode>> nodes)
      : nodes_{std::move(nodes)}, settled_{nodes_.all()} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override;
  Turn await_turn(const Claim& claim, const CallLimit& limit) override;
  void withdraw(const Claim& claim, const CallLimit& limit) override;
  Renewal renew(const LockName& name, const Token& token, Ttl ttl, const CallLimit& limit) override;
  Release release(const LockName& name, const Token& token, Millis min_hold,
                  const CallLimit& limit) override;
  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override;
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override;
  void confirm_stopped(const LockName& name, const Notice& notice, const CallLimit& limit) override;

 private:
  void shun(const std::vector<std::size_t>& unsettled);
  /// Nodes that lost their data, or that never heard us, get the lock for the next round. Only who
  /// has a majority may do that: else a lock that was lost would come back to life node by node.
  void heal(const Claim& claim, const Answers<Renewal>& answers, const CallLimit& limit);

  Nodes nodes_;
  std::optional<Token> token_;        // of the last try
  std::vector<std::size_t> settled_;  // may be asked with it
};

Attempt QuorumStore::try_acquire(const Claim& claim, const CallLimit& limit) {
  for (int tries = 1;; ++tries) {
    // A server that is late may take back what a try was given after the next one has begun: so
    // that has another token, or does not ask there.
    Claim now = claim;
    if (token_ && !claim.token_stays) now.token = token_->another();
    token_ = now.token;
    if (settled_.size() < majority(nodes_.size())) {
      return TokenExhausted{"too few servers have heard that an earlier try was given up"};
    }
    auto [attempt, unsettled] = bid(nodes_, settled_, now, limit);
    if (claim.token_stays) shun(unsettled);
    const auto* busy = std::get_if<Busy>(&attempt);
    const bool split = busy != nullptr && !busy->occupant;
    if (!split || tries == most_splits || limit.until.passed(base::now())) {
      if (busy == nullptr || claim.on_busy == OnBusy::give_up) return attempt;
      return Queued{busy->occupant, 0, std::nullopt};
    }
    const Millis pause{os::random_between(shortest_pause, longest_pause)};
    os::wait_any({limit.interrupt}, Deadline::after(base::now(), pause));
  }
}

void QuorumStore::shun(const std::vector<std::size_t>& unsettled) {
  std::erase_if(settled_, [&](std::size_t node) {
    return std::find(unsettled.begin(), unsettled.end(), node) != unsettled.end();
  });
}

Turn QuorumStore::await_turn(const Claim& /*claim*/, const CallLimit& limit) {
  const auto next = Deadline::after(base::now(), Millis{os::random_between(soonest, latest)});
  os::wait_any({limit.interrupt}, std::min(next, limit.until));
  if (next.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

void QuorumStore::withdraw(const Claim& claim, const CallLimit& limit) {
  Claim last = claim;
  if (token_) last.token = *token_;
  take_back(nodes_, last, limit);
}

Renewal QuorumStore::renew(const LockName& name, const Token& token, Ttl ttl,
                           const CallLimit& limit) {
  const Moment asked_at = base::now();
  const auto answers = nodes_.ask<Renewed, Renewal>(
      [&](std::size_t node, const CallLimit& share) {
        return nodes_[node].renew(name, token, ttl, share);
      },
      for_a_refresh, limit);
  const auto needed = majority(nodes_.size());
  if (count<Renewed>(answers) >= needed) {
    heal({name, token, ttl, OnBusy::give_up}, answers, limit);
    return Renewed{validity(asked_at, ttl), asked_at};
  }
  if (count<NotOurs>(answers) > nodes_.size() - needed) {
    return NotOurs{"a majority of the servers does not have it any more"};
  }
  return summary(answers);
}

void QuorumStore::heal(const Claim& claim, const Answers<Renewal>& answers,
                       const CallLimit& limit) {
  std::vector<std::size_t> without;
  for (const auto node : settled_) {
    if (answers[node] && std::holds_alternative<NotOurs>(*answers[node])) without.push_back(node);
  }
  if (without.empty()) return;
  Round<Attempt> round{
      without, nodes_.size(),
      [&](std::size_t node, const CallLimit& share) { return enter(nodes_[node], claim, share); },
      limit};
  round.linger(Deadline::after(base::now(), for_a_release));
  (void)round.end();
}

Release QuorumStore::release(const LockName& name, const Token& token, Millis min_hold,
                             const CallLimit& limit) {
  const auto answers = nodes_.ask<Released, Release>(
      [&](std::size_t node, const CallLimit& share) {
        return nodes_[node].release(name, token, min_hold, share);
      },
      for_a_release, limit);
  const auto needed = majority(nodes_.size());
  if (count<Released>(answers) >= needed) return Released{};
  if (count<NotOurs>(answers) > nodes_.size() - needed) {
    return NotOurs{"a majority of the servers does not have it any more"};
  }
  return summary(answers);
}

Standing QuorumStore::check(const LockName& name, const Token& token, const CallLimit& limit) {
  const auto answers = nodes_.ask<StillOurs, Standing>(
      [&](std::size_t node, const CallLimit& share) {
        return nodes_[node].check(name, token, share);
      },
      Millis{0}, limit);
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
                                  const CallLimit& limit) {
  const auto [node, original] = unwrapped(notice);
  if (node < nodes_.size()) nodes_[node].confirm_stopped(name, original, limit);
}

}  // namespace

std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<QuorumNode>> nodes) {
  return std::make_unique<QuorumStore>(std::move(nodes));
}

}  // namespace store::quorum
