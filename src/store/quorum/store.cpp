#include "store/quorum/quorum.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "os/host.hpp"
#include "os/poll.hpp"
#include "store/quorum/acquire_round.hpp"
#include "store/quorum/queue_wait.hpp"

namespace store::quorum {
namespace {

/// For late nodes. No user waits for a refresh, but a run with many locks refreshes them one after
/// the other within a third of the lease, and a silent node must not delay that too much.
Millis for_a_refresh(Ttl ttl) {
  return std::min(ttl.length() / 60, Millis{500});
}
constexpr Millis for_healing{100};
// The pause after a round in which no client got a majority: random, so that the same clients do
// not collide again.
constexpr int most_splits = 6;
constexpr std::int64_t shortest_pause = 5;
constexpr std::int64_t longest_pause = 40;

// A silent node must not keep us from hearing the others.
constexpr Millis to_connect{300};

/// `stop` counts from any node, `lost` from a majority.
class QuorumListener final : public Listener {
 public:
  explicit QuorumListener(std::vector<std::unique_ptr<Listener>> nodes)
      : nodes_{std::move(nodes)}, lost_(nodes_.size()) {}

  [[nodiscard]] int descriptor() const override { return ready_.descriptor(); }

  [[nodiscard]] Deadline due() const override {
    Deadline first = Deadline::never();
    for (const auto& node : nodes_) first = std::min(first, node->due());
    return first;
  }

  void listen(const CallLimit& limit) override {
    std::vector<std::size_t> late;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->due().passed(base::now())) late.push_back(i);
    }
    const auto until = std::min(limit.until, Deadline::after(base::now(), to_connect));
    FanOut<bool> fan_out{late,
                         nodes_.size(),
                         [&](std::size_t node, const CallLimit& share) {
                           nodes_[node]->listen(share);
                           return true;
                         },
                         {until, limit.interrupt}};
    fan_out.wait([](const auto&) { return false; });
    fan_out.end();
    watch();
  }

  std::optional<Notice> take() override {
    std::optional<Notice> heard;
    for (std::size_t i = 0; i < nodes_.size() && !heard; ++i) {
      auto notice = nodes_[i]->take();
      if (!notice) continue;
      if (notice->kind == Notice::Kind::lost) {
        lost_[i] = true;
        const auto said = static_cast<std::size_t>(std::count(lost_.begin(), lost_.end(), true));
        if (said < majority(nodes_.size())) continue;
      }
      heard = wrapped(*std::move(notice), i);
    }
    watch();
    return heard;
  }

 private:
  void watch() {
    std::vector<int> all;
    for (const auto& node : nodes_) all.push_back(node->descriptor());
    try {
      ready_ = os::PollSet{all};
    } catch (const std::system_error&) {
      // No descriptor is left: the old one tells of those connections that are still the same.
    }
  }

  std::vector<std::unique_ptr<Listener>> nodes_;
  std::vector<bool> lost_;
  os::PollSet ready_{{}};
};

/// The token of our claims. If a node may receive the end of an earlier try late, that must not end
/// the next one. So the next try gets another token, unless the claim's must stay.
class TriedToken {
 public:
  /// For a bid. The position in the queue is the ticket's, so the token stays until some node may
  /// not know that it has ended there; `given_up` is that earlier one.
  struct OfBid {
    Token token;
    std::optional<Token> given_up;
  };
  OfBid for_bid(const Claim& claim) {
    OfBid bid{claim.token, std::nullopt};
    if (token_ && !claim.token_stays) {
      if (last_ == LastTry::given_up) bid.given_up = std::exchange(token_, token_->another());
      bid.token = *token_;
    }
    token_ = bid.token;
    last_ = LastTry::stands;
    return bid;
  }

  /// For a try that is not a bid.
  Token for_single_try(const Claim& claim) {
    token_ = token_ && !claim.token_stays ? token_->another() : claim.token;
    return *token_;
  }

  /// The last try is over, and a node may still have to learn of that.
  void give_up() { last_ = LastTry::given_up; }

  /// The claim as last tried.
  [[nodiscard]] Claim last(Claim claim) const {
    if (token_) claim.token = *token_;
    return claim;
  }

 private:
  enum class LastTry { stands, given_up };

  std::optional<Token> token_{};  // of the last try
  LastTry last_ = LastTry::stands;
};

class QuorumStore final : public LockStore {
 public:
  explicit QuorumStore(std::vector<std::unique_ptr<QuorumNode>> nodes)
      : nodes_{std::move(nodes)}, settled_{nodes_.all()} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    if (settled_.size() < majority(nodes_.size())) {
      return TokenExhausted{"too few servers have heard that an earlier try was given up"};
    }
    return claim.on_busy == OnBusy::queue ? bid(claim, limit) : try_alone(claim, limit);
  }

  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    const Claim now = token_.last(claim);
    const auto granted = queue_wait_.to_give_back();
    if (!granted.empty()) note_unsettled(claim, give_back(nodes_, granted, now, limit));
    return queue_wait_.sleep(nodes_, now, limit);
  }

  /// Its nodes are waiting in BLPOP.
  [[nodiscard]] bool may_ask_while_waiting() const override { return false; }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    take_back(nodes_, token_.last(claim), limit);
    token_.give_up();
  }

  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    const Moment asked_at = base::now();
    const auto answers = nodes_.ask<Renewed, Renewal>(
        [&](std::size_t node, const CallLimit& share) {
          return nodes_[node].renew(name, token, ttl, share);
        },
        for_a_refresh(ttl), limit);
    const auto needed = majority(nodes_.size());
    if (count<Renewed>(answers) >= needed) {
      heal({name, token, ttl, OnBusy::give_up}, answers, limit);
      return Renewed{validity(asked_at, ttl), asked_at};
    }
    if (count<NotOurs>(answers) > nodes_.size() - needed) {
      return NotOurs{"a majority of the servers no longer has it"};
    }
    return summary(answers);
  }

  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    const auto needed = majority(nodes_.size());
    // With fewer than this many nodes left, we have lost our majority.
    const auto given_back = [&](const auto& all) {
      return count<Released>(all) > 0 && count<Released>(all) + count<NotOurs>(all) >= needed;
    };
    auto answers = nodes_.ask<Release>(
        [&](std::size_t node, const CallLimit& share) {
          return nodes_[node].release(name, token, parting, share);
        },
        [&](const auto& all) {
          return decided<Released>(all, late(all).size()) || given_back(all);
        },
        Millis{0}, limit);
    if (is_last_grant(name, token)) {
      // A node that released on the first request no longer has it on the second.
      for (const auto node : released_) answers[node].emplace(Released{});
      for (const auto node : nodes_.all()) {
        if (given<Released>(answers[node]) != nullptr) released_.push_back(node);
      }
    }
    if (count<Released>(answers) < needed && count<NotOurs>(answers) > nodes_.size() - needed) {
      return NotOurs{"a majority of the servers no longer has it"};
    }
    if (!given_back(answers)) return summary(answers);
    released_.clear();
    return Released{};
  }

  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    const auto answers = nodes_.ask<StillOurs, Standing>(
        [&](std::size_t node, const CallLimit& share) {
          return nodes_[node].check(name, token, share);
        },
        Millis{0}, limit);
    if (const auto ours = standing(answers)) return *ours;
    if (count<Elsewhere>(answers) <= nodes_.size() - majority(nodes_.size()))
      return summary(answers);
    for (const auto& each : answers) {
      const auto* elsewhere = given<Elsewhere>(each);
      if (elsewhere != nullptr && elsewhere->holder) return *elsewhere;
    }
    return Elsewhere{};
  }

  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    std::vector<std::unique_ptr<Listener>> listeners;
    for (const auto node : nodes_.all()) listeners.push_back(nodes_[node].listener(name, token));
    return std::make_unique<QuorumListener>(std::move(listeners));
  }

  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    const auto [node, original] = unwrapped(notice);
    if (node < nodes_.size()) nodes_[node].confirm_stopped(name, original, limit);
  }

 private:
  /// A single attempt, repeated a few times if several clients hold parts of the nodes.
  Attempt try_alone(const Claim& claim, const CallLimit& limit) {
    std::optional<Token> earlier;
    for (int tries = 1;; ++tries) {
      // A late server may withdraw the grant of a try after the next one has begun. So that one has
      // another token, or does not ask this server.
      Claim now = claim;
      now.token = token_.for_single_try(claim);
      auto round = acquire_round(nodes_, settled_, now, earlier, limit);
      note_grant(now, round);
      if (claim.token_stays) stop_asking(round.unsettled);
      // A writer meets its earlier try as the holder; a reader does not, since the two go together.
      earlier.reset();
      const bool reads = claim.mode.kind == Mode::Kind::shared;
      if (reads && !claim.token_stays && !round.unsettled.empty()) earlier = now.token;
      const auto* busy = std::get_if<Busy>(&round.attempt);
      const bool split =
          busy != nullptr && !busy->holder && open_to_us(round.answers) >= majority(nodes_.size());
      const bool too_few = settled_.size() < majority(nodes_.size());
      if (!split || too_few || tries == most_splits || limit.until.passed(base::now())) {
        return std::move(round.attempt);
      }
      const Millis pause{os::random_between(shortest_pause, longest_pause)};
      os::wait_any({limit.interrupt}, Deadline::after(base::now(), pause));
    }
  }

  /// One round of a waiter, which is then in the queues.
  Attempt bid(const Claim& claim, const CallLimit& limit) {
    Claim now = queue_wait_.in_queue(claim);
    auto [token, given_up] = token_.for_bid(claim);
    now.token = std::move(token);
    const auto began = base::now();
    auto round = acquire_round(nodes_, settled_, now, given_up, limit);
    note_grant(now, round);
    note_unsettled(claim, round.unsettled);
    const auto* busy = std::get_if<Busy>(&round.attempt);
    if (busy == nullptr) return std::move(round.attempt);
    queue_wait_.note(round.answers, busy->holder.has_value(), began);
    Queued queued{busy->holder, ahead(round.answers), std::nullopt};
    for (const auto& each : round.answers) {
      const auto* there = given<Queued>(each);
      if (there != nullptr && there->typical_run) queued.typical_run = there->typical_run;
    }
    return queued;
  }

  void note_grant(const Claim& claim, const AcquireRound& round) {
    const auto* granted = std::get_if<Granted>(&round.attempt);
    if (granted == nullptr) return;
    lease_ = granted->lease;
    granted_ = claim;
    released_.clear();
    unconfirmed_ = {round.unconfirmed.begin(), round.unconfirmed.end()};
  }

  /// These nodes may at any time process the end of the claim with the last token.
  void note_unsettled(const Claim& claim, const std::vector<std::size_t>& unsettled) {
    if (claim.token_stays) stop_asking(unsettled);
    if (!unsettled.empty()) token_.give_up();
  }

  void stop_asking(const std::vector<std::size_t>& unsettled) {
    std::erase_if(settled_, [&](std::size_t node) {
      return std::find(unsettled.begin(), unsettled.end(), node) != unsettled.end();
    });
  }

  /// Restores the lock on nodes that lost their data or never received our claim. Only the holder
  /// of a majority may do that: otherwise a lost lock would revive node by node.
  void heal(Claim claim, const Answers<Renewal>& answers, const CallLimit& limit) {
    std::vector<std::size_t> without;
    for (const auto node : settled_) {
      if (given<NotOurs>(answers[node]) != nullptr) without.push_back(node);
    }
    // The fence first: a healed node issues its own number.
    std::vector<std::size_t> lower;
    for (const auto node : unconfirmed_) {
      if (given<Renewed>(answers[node]) != nullptr) lower.push_back(node);
    }
    if (without.empty() && lower.empty()) return;
    const auto standing = standing_of(claim.name, claim.token, limit);
    if (!standing) return;
    claim.mode = standing->mode;
    const auto& fence = standing->fence;
    // The end of the job must not cut this short: its release has a new connection, may be there
    // first, and the node would then have the lock for a whole TTL.
    const CallLimit uncut{limit.until};
    FanOut<Attempt> fan_out{
        without, nodes_.size(),
        [&](std::size_t node, const CallLimit& share) { return enter(nodes_[node], claim, share); },
        uncut};
    fan_out.linger(Deadline::after(base::now(), for_healing));
    const auto& healed = fan_out.end();
    for (const auto node : without) {
      if (given<Granted>(healed[node]) != nullptr) lower.push_back(node);
    }
    // A late one has its own number as well, and the next refresh finds nothing to heal there.
    if (is_last_grant(claim.name, claim.token)) {
      unconfirmed_.insert(without.begin(), without.end());
    }
    if (!fence) return;
    const auto now = base::now();
    Lease lease{claim.name, claim.token, claim.ttl, validity(now, claim.ttl), *fence, now};
    if (is_last_grant(claim.name, claim.token)) {
      // Only now: a node that has lost its data counts the slot's runs from the start.
      claim.slot = granted_->slot;
      claim.history = granted_->history;
      lease.attempt = lease_->attempt;
      lease.failures = lease_->failures;
    }
    const auto unheard = raise(nodes_, claim, lease, lower, limit);
    // One that answered has it, or keeps a higher number.
    for (const auto node : lower) {
      const bool answered = std::find(unheard.begin(), unheard.end(), node) == unheard.end();
      if (answered) unconfirmed_.erase(node);
    }
  }

  [[nodiscard]] bool is_last_grant(const LockName& name, const Token& token) const {
    return lease_ && lease_->name == name && lease_->token == token;
  }

  /// The fence and the mode of the token's grant; nothing if the servers do not say.
  std::optional<StillOurs> standing_of(const LockName& name, const Token& token,
                                       const CallLimit& limit) {
    if (is_last_grant(name, token)) {
      return StillOurs{lease_->valid_until, lease_->fence, granted_->mode};
    }
    const auto ours = check(name, token, limit);
    const auto* still = std::get_if<StillOurs>(&ours);
    return still != nullptr ? std::optional{*still} : std::nullopt;
  }

  Nodes nodes_;
  TriedToken token_;
  QueueWait queue_wait_;
  std::vector<std::size_t> settled_;   // nodes that may be asked with it
  std::optional<Lease> lease_;         // of the last grant
  std::optional<Claim> granted_;       // the granted claim
  std::set<std::size_t> unconfirmed_;  // nodes that may have a lower fence for it
  std::vector<std::size_t> released_;  // nodes that have released it
};

}  // namespace

std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<QuorumNode>> nodes) {
  return std::make_unique<QuorumStore>(std::move(nodes));
}

}  // namespace store::quorum
