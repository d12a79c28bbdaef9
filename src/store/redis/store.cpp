#include "store/redis/redis.hpp"

#include <fmt/format.h>

#include "store/redis/client.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/listener.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/wait.hpp"

namespace store::redis {
namespace {

// The time for replicas to confirm a grant: one round trip, but they may be far away or busy.
constexpr Millis replication{2'000};

std::string count(Millis length) {
  return std::to_string(length.count());
}

std::size_t count_in(const Reply& field) {
  return static_cast<std::size_t>(std::max<std::int64_t>(field.integer(), 0));
}

std::optional<Lease> lease_in(const Fields& granted, const Claim& claim, Moment asked_at) {
  const auto fence = unsigned_in(granted["fence"]);
  if (!fence) return std::nullopt;
  Lease lease{claim.name, claim.token, claim.ttl, validity(asked_at, claim.ttl), *fence, asked_at};
  lease.attempt = number_in(granted["attempt"]);
  lease.failures = number_in(granted["failures"]);
  lease.permit = number_in(granted["permit"]);
  lease.resource = claim.mode.name_of(lease.permit);
  return lease;
}

Queued queued_in(const Fields& fields) {
  Queued queued{holder_in(fields["holder"]), count_in(fields["ahead"]),
                length_if_in(fields["look_in"])};
  queued.ticket = unsigned_in(fields["ticket"]).value_or(0);
  queued.typical_run = length_if_in(fields["typical_run"]);
  return queued;
}

Attempt done_in(const Fields& done) {
  const auto how = outcome_in(done["outcome"].text());
  const auto fence = unsigned_in(done["fence"]);
  if (!how || !fence) return nonsense();
  return SlotDone{Token::foreign(std::string{done["token"].text()}), *fence,
                  number_in(done["attempt"]), *how, length_in(done["ago"])};
}

const char* text_of(Parting::SlotEnd end) {
  switch (end) {
    case Parting::SlotEnd::done: return "done";
    case Parting::SlotEnd::failed: return "failed";
    case Parting::SlotEnd::open: break;
  }
  return "open";
}

NotOurs not_ours(std::int64_t code) {
  if (code == -2) return {"a later fence was given"};
  return {code == 0 ? "the key is gone from the server" : "the key has another holder"};
}

class RedisStore final : public QuorumNode {
 public:
  explicit RedisStore(const RedisServer& server) : server_{server}, client_{server} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const Moment asked_at = base::now();
    auto answer = run(scripts::enter, claim.name, claim_to_say(claim, asked_at), limit, claim.slot);
    if (!answer) {
      if (answer.error().kind == Fault::Kind::silent && !lost_try_) lost_try_ = asked_at;
      return std::move(answer).error();
    }
    const Reply& reply = *answer;
    const Fields fields{reply, 1};
    const std::string_view outcome = reply[0].text();
    if (outcome == "granted") {
      auto lease = lease_in(fields, claim, asked_at);
      if (!lease) return nonsense();
      sync_replicas_ = claim.sync_replicas;
      auto flaw = missing_replicas(limit);
      if (!flaw) return std::move(flaw).error();
      return Granted{*std::move(lease), *std::move(flaw), fields["again"].integer() == 1};
    }
    if (outcome == "busy") return Busy{holder_in(fields["holder"]), count_in(fields["waiting"])};
    if (outcome == "queued") {
      ticket_ = fields["ticket"].text();
      queued_ = queued_in(fields);
      return queued_;
    }
    if (outcome == "done") return done_in(fields);
    if (outcome == "mismatch") {
      return ModeConflict{mode_in(fields["mode"].text()),
                          Token::foreign(std::string{fields["token"].text()})};
    }
    return nonsense();
  }

  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    return wait_.sleep(LockKeys{claim.name}.mailbox + claim.token.text(), queued_, limit);
  }

  /// A notice may be on its way, in the answer to BLPOP.
  [[nodiscard]] bool may_ask_while_waiting() const override { return false; }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    // If the server does not receive it, our position ends with our patience, and an unheard grant
    // with its lease.
    const auto cancel = [&](const CallLimit& share) {
      return leave(claim.name, queue_id(claim.token, claim.mode), "cancel", no_run(claim), share);
    };
    // The connection may be dead without a sign: keep half of the time for a new one.
    const auto now = base::now();
    const auto answer = cancel(limit.at_most(Deadline::after(now, limit.until.left(now) / 2)));
    const bool unheard = !answer && answer.error().kind == Fault::Kind::silent;
    if (unheard && !ended(limit)) (void)cancel(limit);
  }

  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    // A replaced master would refresh for ever a lock that the new one grants to others.
    client_.follow_master(limit);
    const Moment asked_at = base::now();
    auto answer = run(scripts::renew, name, {token.text(), count(ttl.length())}, limit);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (!reply.is_integer()) return nonsense();
    if (reply.integer() != 1) return not_ours(reply.integer());
    auto flaw = missing_replicas(limit);
    if (!flaw) return std::move(flaw).error();
    // A master that has lost its replicas may have been replaced. A master that we reached since
    // then was a replica itself, and may need time to get replicas of its own.
    if (!flaw->empty() && client_.peer() == confirmed_at_) {
      return Fault{Fault::Kind::unavailable, *std::move(flaw)};
    }
    return Renewed{validity(asked_at, ttl), asked_at};
  }

  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    auto answer = leave(name, token.text(), "release", parting, limit);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (!reply.is_integer()) return nonsense();
    if (reply.integer() != 1) return not_ours(reply.integer());
    return Released{};
  }

  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    const Moment asked_at = base::now();
    auto answer = run(scripts::check, name, {token.text()}, limit);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    const Fields fields{reply, 1};
    if (reply[0].text() == "elsewhere") return Elsewhere{holder_in(fields["holder"])};
    const Millis left = length_in(fields["left"]);
    if (reply[0].text() != "ours" || left == Millis{0}) return nonsense();
    return StillOurs{validity(asked_at, left), unsigned_in(fields["fence"]),
                     mode_in(fields["mode"].text())};
  }

  Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) override {
    Arguments raised;
    raised.say("token", lease.token.text())
        .say("fence", lease.fence)
        .say("ttl", lease.ttl.length())
        .say("history", claim.history)
        .say("attempt", lease.attempt)
        .say("failures", lease.failures);
    auto answer = run(scripts::raise, lease.name, raised.take(), limit, claim.slot);
    if (!answer) return std::move(answer).error();
    const Reply& reply = *answer;
    if (!reply.is_integer()) return nonsense();
    if (reply.integer() != 1) return not_ours(reply.integer());
    return Renewed{lease.valid_until, lease.asked_at};
  }

  bool start_over() override {
    wait_.unblock();
    sync_replicas_ = 0;
    confirmed_at_.clear();
    ticket_.clear();
    lost_try_.reset();
    queued_ = {};
    return true;
  }

  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    return open_listener(server_, LockKeys{name}.mailbox + token.text());
  }
  std::shared_ptr<ListenerGroup> listener_group() override { return open_listener_group(server_); }

  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    if (notice.reply_to.empty()) return;
    (void)run(scripts::tell, name, {notice.reply_to, "stopped"}, limit);
  }

 private:
  /// Runs a script on a lock.
  Result<Reply> run(const Script& script, const LockName& name,
                    const std::vector<std::string>& arguments, const CallLimit& limit,
                    const std::optional<Slot>& slot = std::nullopt) {
    wait_.unblock();
    return client_.run_script(script, name, arguments, limit, slot);
  }

  [[nodiscard]] std::vector<std::string> claim_to_say(const Claim& claim, Moment asked_at) const {
    const Bid bid = claim.bid.value_or(Bid{});
    // Once we are in the queue, supersede must not dismiss later waiters.
    const bool first_time = ticket_.empty();
    Arguments claimed;
    claimed.say("id", queue_id(claim.token, claim.mode))
        .say("ttl", claim.ttl.length())
        .say("confirm_within", confirm_within);
    if (claim.on_busy == OnBusy::queue) claimed.say("patience", patience);
    if (bid.ticket) {
      claimed.say("ticket", bid.ticket->number);
    } else if (!first_time) {
      claimed.say("ticket", ticket_);
    }
    if (bid.ticket && bid.ticket->from == Bid::Ticket::From::client) claimed.say("newcomer", 1);
    if (bid.fence) claimed.say("fence", *bid.fence);
    if (claim.max_waiters) claimed.say("max_waiters", *claim.max_waiters);
    if (first_time && !claim.supersede.empty()) claimed.say("supersede", claim.supersede);
    if (claim.spare_holders) claimed.say("spare_holders", 1);
    if (lost_try_) {
      claimed.say("tried", std::max(base::ceil<Millis>(asked_at - *lost_try_), Millis{1}));
    }
    if (claim.history > Millis{0}) claimed.say("history", claim.history);
    claimed.say("run_begin", fields_of_claim(claim.waited, claim.slot ? claim.slot->id : ""));
    if (!claim.reason.empty()) claimed.say("reason", claim.reason);
    return claimed.take();
  }

  Result<Reply> leave(const LockName& name, const std::string& id, const char* how,
                      const Parting& parting, const CallLimit& limit) {
    Arguments parted;
    parted.say("id", id).say("confirm_within", confirm_within).say("how", how);
    if (parting.min_hold > Millis{0}) parted.say("min_hold", parting.min_hold);
    if (parting.history > Millis{0}) parted.say("history", parting.history);
    if (parting.end) parted.say("run_end", fields_of_end(*parting.end));
    if (parting.fence) parted.say("fence", *parting.fence);
    std::optional<Slot> slot;
    if (const auto& of_slot = parting.slot) {
      slot = of_slot->slot;
      if (parting.end) parted.say("slot_end", text_of(of_slot->end));
      parted.say("retries", of_slot->slot.retries)
          .say("attempt", of_slot->attempt)
          .say("failures", of_slot->failures);
    }
    return run(scripts::leave, name, parted.take(), limit, slot);
  }

  /// Why our last write does not count: too few replicas have it. Empty if enough do.
  Result<std::string> missing_replicas(const CallLimit& limit) {
    if (sync_replicas_ == 0) return std::string{};
    const Millis time = std::min(replication, limit.until.left(base::now()) / 2);
    auto answer =
        client_.ask_same_connection({"WAIT", std::to_string(sync_replicas_), count(time)}, limit);
    if (!answer) return std::move(answer).error();
    const auto acknowledged = answer->integer();
    if (acknowledged >= static_cast<std::int64_t>(sync_replicas_)) {
      confirmed_at_ = client_.peer();
      return std::string{};
    }
    return fmt::format("only {} of {} replicas have confirmed the lock", acknowledged,
                       sync_replicas_);
  }

  RedisServer server_;
  Client client_;

  // How many replicas must confirm the holder's writes, and the master where they last did.
  unsigned sync_replicas_ = 0;
  std::string confirmed_at_;

  // Our ticket in the queue, and the server's last answer.
  BlockingWait wait_{client_};
  std::string ticket_;
  std::optional<Moment>
      lost_try_;  // the first try that the server may have processed although its answer was lost
  Queued queued_{};
};

}  // namespace

std::unique_ptr<QuorumNode> open_store(const RedisServer& server) {
  return std::make_unique<RedisStore>(server);
}

}  // namespace store::redis
