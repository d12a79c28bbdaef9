#include "store/redis/redis.hpp"

#include <fmt/format.h>

#include "store/redis/client.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/wait.hpp"

namespace store::redis {
namespace {

// For replicas to confirm a grant: a round trip, but they may be far away, or busy.
constexpr Millis replication{2'000};

std::string count(Millis length) {
  return std::to_string(length.count());
}

class RedisStore final : public QuorumNode {
 public:
  explicit RedisStore(const RedisServer& server) : server_{server}, client_{server} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override;
  Turn await_turn(const Claim& claim, const CallLimit& limit) override;
  void withdraw(const Claim& claim, const CallLimit& limit) override;
  Renewal renew(const LockName& name, const Token& token, Ttl ttl, const CallLimit& limit) override;
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override;
  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override;
  Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) override;
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override;
  void confirm_stopped(const LockName& name, const Notice& notice, const CallLimit& limit) override;

 private:
  /// A script on a lock.
  Result<Reply> run(const Script& script, const LockName& name,
                    const std::vector<std::string>& arguments, const CallLimit& limit,
                    const std::optional<Slot>& slot = std::nullopt);
  Result<Reply> leave(const LockName& name, const std::string& id, const char* how,
                      const Parting& parting, const CallLimit& limit);
  /// What is wrong with what we have just written: too few replicas have it. Empty if enough do.
  Result<std::string> missing_replicas(const CallLimit& limit);

  RedisServer server_;
  Client client_;

  // The replicas that must confirm what the holder writes, and the master where they last did.
  unsigned sync_replicas_ = 0;
  std::string confirmed_at_;

  // Of the queue: our ticket, and the place that the server told us last.
  BlockingWait wait_{client_};
  std::string ticket_;
  std::optional<Moment>
      lost_try_;  // the first one that the server may have heard, without our hearing it
  Queued place_{};
};

Result<Reply> RedisStore::run(const Script& script, const LockName& name,
                              const std::vector<std::string>& arguments, const CallLimit& limit,
                              const std::optional<Slot>& slot) {
  wait_.unblock();
  return client_.run_script(script, name, arguments, limit, slot);
}

Attempt done_in(const Reply& reply) {
  const auto how = outcome_in(reply[2].text());
  const auto fence = unsigned_in(reply[4]);
  if (!how || !fence) return nonsense();
  return SlotDone{Token::foreign(std::string{reply[5].text()}), *fence, number_in(reply[1]), *how,
                  length_in(reply[3])};
}

Attempt RedisStore::try_acquire(const Claim& claim, const CallLimit& limit) {
  const Moment asked_at = base::now();
  const Millis again =
      lost_try_ ? std::max(base::ceil<Millis>(asked_at - *lost_try_), Millis{1}) : Millis{0};
  // Once we are in the queue, those who came after us must not be sent away.
  const bool first_time = ticket_.empty();
  const Bid bid = claim.bid.value_or(Bid{});
  std::vector<std::string> arguments{
      queue_id(claim.token, claim.mode),
      count(claim.ttl.length()),
      count(redis::claim),
      claim.on_busy == OnBusy::queue ? count(grace) : "0",
      bid.ticket > 0 ? std::to_string(bid.ticket) : ticket_,
      claim.max_waiters ? std::to_string(*claim.max_waiters) : "",
      first_time ? claim.supersede : "",
      count(again),
      count(claim.history),
      fields_of_claim(claim.waited, claim.slot ? claim.slot->id : ""),
      claim.spare_holders ? "waiting" : "",
      claim.reason};
  if (bid.newcomer || bid.fence > 0) arguments.emplace_back(bid.newcomer ? "new" : "");
  if (bid.fence > 0) arguments.push_back(std::to_string(bid.fence));
  auto answer = run(scripts::enter, claim.name, arguments, limit, claim.slot);
  if (!answer) {
    if (answer.error().kind == Fault::Kind::silent && !lost_try_) lost_try_ = asked_at;
    return std::move(answer).error();
  }
  const Reply& reply = *answer;

  const std::string_view outcome = reply[0].text();
  if (outcome == "granted") {
    const auto fence = unsigned_in(reply[1]);
    if (!fence) return nonsense();
    sync_replicas_ = claim.sync_replicas;
    auto flaw = missing_replicas(limit);
    if (!flaw) return std::move(flaw).error();
    Lease lease{claim.name, claim.token, claim.ttl, validity(asked_at, claim.ttl),
                *fence,     asked_at};
    lease.attempt = number_in(reply[2]);
    lease.failures = number_in(reply[3]);
    lease.permit = number_in(reply[4]);
    lease.resource = claim.mode.name_of(lease.permit);
    return Granted{std::move(lease), *std::move(flaw), reply[5].integer() == 1};
  }
  if (outcome == "done") return done_in(reply);
  if (outcome == "mismatch") {
    return ModeConflict{mode_in(reply[1].text()), Token::foreign(std::string{reply[2].text()})};
  }
  const auto others = static_cast<std::size_t>(std::max<std::int64_t>(reply[6].integer(), 0));
  const auto holder = [&](std::size_t reason) {
    auto one = holder_in(reply, 1);
    if (one) one->reason = reply[reason].text();
    return one;
  };
  if (outcome == "busy") return Busy{holder(7), others};
  if (outcome != "queued") return nonsense();
  ticket_ = reply[7].text();
  place_ = Queued{holder(10), others, std::nullopt};
  place_.ticket = unsigned_in(reply[7]).value_or(0);
  if (const auto look_in = reply[8]; look_in.integer() >= 0) place_.look_in = length_in(look_in);
  if (reply[9].is_integer() && reply[9].integer() >= 0) place_.typical_run = length_in(reply[9]);
  return place_;
}

Result<std::string> RedisStore::missing_replicas(const CallLimit& limit) {
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

Turn RedisStore::await_turn(const Claim& claim, const CallLimit& limit) {
  return wait_.sleep(LockKeys{claim.name}.mailbox + claim.token.text(), place_, limit);
}

std::string end_of(const Parting& parting) {
  using End = Parting::SlotEnd;
  if (!parting.slot || !parting.end) return "";
  switch (parting.slot->end) {
    case End::done: return "done";
    case End::failed: return "failed";
    case End::open: break;
  }
  return "open";
}

Result<Reply> RedisStore::leave(const LockName& name, const std::string& id, const char* how,
                                const Parting& parting, const CallLimit& limit) {
  std::vector<std::string> arguments{id,
                                     count(redis::claim),
                                     how,
                                     count(parting.min_hold),
                                     count(parting.history),
                                     parting.end ? fields_of_end(*parting.end) : ""};
  std::optional<Slot> slot;
  if (const auto& of_slot = parting.slot) {
    slot = of_slot->slot;
    arguments.insert(arguments.end(),
                     {end_of(parting), std::to_string(of_slot->slot.retries),
                      std::to_string(of_slot->attempt), std::to_string(of_slot->failures)});
  }
  if (parting.fence) {
    arguments.resize(10);  // with the four of a slot
    arguments.push_back(std::to_string(*parting.fence));
  }
  return run(scripts::leave, name, arguments, limit, slot);
}

void RedisStore::withdraw(const Claim& claim, const CallLimit& limit) {
  // If it is not heard, our place ends with the grace, a lock granted unheard with its lease.
  const auto cancel = [&](const CallLimit& share) {
    return leave(claim.name, queue_id(claim.token, claim.mode), "cancel", no_run(claim), share);
  };
  // The connection may have died without a word: half of the time is for a new one.
  const auto now = base::now();
  const auto answer = cancel(limit.at_most(Deadline::after(now, limit.until.left(now) / 2)));
  const bool unheard = !answer && answer.error().kind == Fault::Kind::silent;
  if (unheard && !ended(limit)) (void)cancel(limit);
}

NotOurs not_ours(std::int64_t code) {
  if (code == -2) return {"a later fence was given"};
  return {code == 0 ? "the key is gone from the server" : "the key has another holder"};
}

Renewal RedisStore::renew(const LockName& name, const Token& token, Ttl ttl,
                          const CallLimit& limit) {
  // A master that was replaced would renew for ever what the new one grants to others.
  client_.follow_master(limit);
  const Moment asked_at = base::now();
  auto answer = run(scripts::renew, name, {token.text(), count(ttl.length())}, limit);
  if (!answer) return std::move(answer).error();
  const Reply& reply = *answer;
  if (!reply.is_integer()) return nonsense();
  if (reply.integer() != 1) return not_ours(reply.integer());
  auto flaw = missing_replicas(limit);
  if (!flaw) return std::move(flaw).error();
  // A master that had its replicas and has them no more may have been replaced. One that we have
  // been led to since was a replica itself, and its own may take a while to come.
  if (!flaw->empty() && client_.peer() == confirmed_at_) {
    return Fault{Fault::Kind::unavailable, *std::move(flaw)};
  }
  return Renewed{validity(asked_at, ttl), asked_at};
}

Renewal RedisStore::raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) {
  auto answer =
      run(scripts::raise, lease.name,
          {lease.token.text(), std::to_string(lease.fence), count(lease.ttl.length()),
           count(claim.history), std::to_string(lease.attempt), std::to_string(lease.failures)},
          limit, claim.slot);
  if (!answer) return std::move(answer).error();
  const Reply& reply = *answer;
  if (!reply.is_integer()) return nonsense();
  if (reply.integer() != 1) return not_ours(reply.integer());
  return Renewed{lease.valid_until, lease.asked_at};
}

Release RedisStore::release(const LockName& name, const Token& token, const Parting& parting,
                            const CallLimit& limit) {
  auto answer = leave(name, token.text(), "release", parting, limit);
  if (!answer) return std::move(answer).error();
  const Reply& reply = *answer;
  if (!reply.is_integer()) return nonsense();
  if (reply.integer() != 1) return not_ours(reply.integer());
  return Released{};
}

Standing RedisStore::check(const LockName& name, const Token& token, const CallLimit& limit) {
  const Moment asked_at = base::now();
  auto answer = run(scripts::check, name, {token.text()}, limit);
  if (!answer) return std::move(answer).error();
  const Reply& reply = *answer;
  if (!reply[0].is_integer()) return nonsense();
  const Millis left = length_in(reply[0]);
  if (left > Millis{0}) return StillOurs{validity(asked_at, left), unsigned_in(reply[1])};
  return Elsewhere{holder_in(reply, 1)};
}

std::unique_ptr<Listener> RedisStore::listener(const LockName& name, const Token& token) {
  return open_listener(server_, LockKeys{name}.mailbox + token.text());
}

void RedisStore::confirm_stopped(const LockName& name, const Notice& notice,
                                 const CallLimit& limit) {
  if (notice.reply_to.empty()) return;
  (void)run(scripts::tell, name, {notice.reply_to, "stopped"}, limit);
}

}  // namespace

std::unique_ptr<QuorumNode> open_store(const RedisServer& server) {
  return std::make_unique<RedisStore>(server);
}

}  // namespace store::redis
