#include "store/redis/redis_store.hpp"

#include "store/redis/answers.hpp"
#include "store/redis/companions.hpp"
#include "store/redis/link.hpp"
#include "store/redis/nap.hpp"
#include "store/redis/redis_listener.hpp"

namespace store::redis {
namespace {

// A server whose timer is late by this much beyond its tick is taken for silent.
constexpr Millis late_server{2'000};
// How long a word to somebody who waits for it is kept for them.
constexpr std::string_view mail_life_ms = "60000";

std::string count(Millis length) {
  return std::to_string(length.count());
}

class RedisStore final : public LockStore {
 public:
  explicit RedisStore(const RedisServer& server) : server_{server}, link_{server} {}

  Attempt try_acquire(const Claim& claim, const Patience& patience) override;
  Turn await_turn(const Claim& claim, const Patience& patience) override;
  void withdraw(const Claim& claim, const Patience& patience) override;
  Renewal renew(const Lease& lease, const Patience& patience) override;
  Release release(const Lease& lease, const Patience& patience) override;
  std::unique_ptr<Listener> listener(const Lease& lease) override;
  void confirm_stopped(const Lease& lease, const Notice& notice, const Patience& patience) override;

 private:
  /// A script on a lock, for which link_ must be awake.
  std::variant<Reply, Fault> run(const Script& script, const LockName& name,
                                 const std::vector<std::string>& arguments,
                                 const Patience& patience);
  std::variant<Reply, Fault> leave(const LockName& name, const Token& token, const char* how,
                                   const Patience& patience);
  bool fall_asleep(const Claim& claim, Nap nap, const Patience& patience);
  void wake_up();

  RedisServer server_;
  Link link_;

  // Queueing: our ticket, what we were told last, and whether link_ is blocked in BLPOP.
  std::string ticket_;
  Queued place_{};
  bool asleep_ = false;
  Deadline cut_ = Deadline::never();
};

std::variant<Reply, Fault> RedisStore::run(const Script& script, const LockName& name,
                                           const std::vector<std::string>& arguments,
                                           const Patience& patience) {
  wake_up();
  return link_.run(script, name, arguments, patience);
}

Attempt RedisStore::try_acquire(const Claim& claim, const Patience& patience) {
  const Moment asked_at = base::now();
  auto answer = run(scripts::enter, claim.name,
                    {claim.token.text(), count(claim.ttl.length()), count(redis::claim),
                     claim.on_busy == OnBusy::queue ? count(grace) : "0", ticket_},
                    patience);
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  const Reply& reply = std::get<Reply>(answer);

  const std::string_view outcome = reply[0].text();
  if (outcome == "granted") {
    const auto fence = fence_in(reply[1]);
    if (!fence) return nonsense();
    return Granted{{claim.name, claim.token, claim.ttl, validity(asked_at, claim.ttl), *fence}};
  }
  const auto others = static_cast<std::size_t>(std::max<std::int64_t>(reply[5].integer(), 0));
  if (outcome == "busy") return Busy{occupant_in(reply, 1), others};
  if (outcome != "queued") return nonsense();
  ticket_ = reply[6].text();
  place_ = Queued{occupant_in(reply, 1), others};
  return place_;
}

bool RedisStore::fall_asleep(const Claim& claim, Nap nap, const Patience& patience) {
  const std::string mailbox = Companions{claim.name}.mailbox + claim.token.text();
  if (link_.send(blocking_pop(mailbox, nap.server_timeout), patience)) return false;
  cut_ = Deadline::after(base::now(), nap.cut.value_or(nap.server_timeout + late_server));
  asleep_ = true;
  return true;
}

void RedisStore::wake_up() {
  // A command would queue behind the BLPOP. A wake that this loses costs nothing, because whoever
  // wakes up asks the server anyway.
  if (asleep_) link_.drop();
  asleep_ = false;
}

Turn RedisStore::await_turn(const Claim& claim, const Patience& patience) {
  if (!asleep_ && !fall_asleep(claim, nap_for(place_), patience)) return Turn::claim_again;
  auto answer = link_.receive(patience.at_most(cut_));
  if (std::holds_alternative<std::monostate>(answer)) {
    return cut_.passed(base::now()) ? Turn::claim_again : Turn::still_waiting;
  }
  asleep_ = false;
  const auto* reply = std::get_if<Reply>(&answer);
  const bool second = reply != nullptr && (*reply)[1].text() == "next";
  if (second && fall_asleep(claim, {second_look, std::nullopt}, patience)) {
    return Turn::still_waiting;
  }
  if (reply != nullptr && reply->is_error()) link_.drop();  // e.g. UNBLOCKED: no longer the master
  return Turn::claim_again;
}

std::variant<Reply, Fault> RedisStore::leave(const LockName& name, const Token& token,
                                             const char* how, const Patience& patience) {
  return run(scripts::leave, name, {token.text(), count(redis::claim), how}, patience);
}

void RedisStore::withdraw(const Claim& claim, const Patience& patience) {
  // If it is not heard, our place ends with the grace, a lock granted unheard with its lease.
  (void)leave(claim.name, claim.token, "cancel", patience);
}

NotOurs not_ours(std::int64_t code) {
  return {code == 0 ? "the key is gone from the server" : "the key has another holder"};
}

Renewal RedisStore::renew(const Lease& lease, const Patience& patience) {
  const Moment asked_at = base::now();
  auto answer =
      run(scripts::renew, lease.name, {lease.token.text(), count(lease.ttl.length())}, patience);
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  const Reply& reply = std::get<Reply>(answer);
  if (!reply.is_integer()) return nonsense();
  if (reply.integer() != 1) return not_ours(reply.integer());
  return Renewed{validity(asked_at, lease.ttl)};
}

Release RedisStore::release(const Lease& lease, const Patience& patience) {
  auto answer = leave(lease.name, lease.token, "release", patience);
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  const Reply& reply = std::get<Reply>(answer);
  if (!reply.is_integer()) return nonsense();
  if (reply.integer() != 1) return not_ours(reply.integer());
  return Released{};
}

std::unique_ptr<Listener> RedisStore::listener(const Lease& lease) {
  return open_listener(server_, Companions{lease.name}.mailbox + lease.token.text());
}

void RedisStore::confirm_stopped(const Lease& lease, const Notice& notice,
                                 const Patience& patience) {
  const std::string mailbox = Companions{lease.name}.mailbox + notice.reply_to;
  if (std::holds_alternative<Reply>(link_.ask({"RPUSH", mailbox, "stopped"}, patience))) {
    (void)link_.ask({"PEXPIRE", mailbox, std::string{mail_life_ms}}, patience);
  }
}

}  // namespace

std::unique_ptr<LockStore> open_store(const RedisServer& server) {
  return std::make_unique<RedisStore>(server);
}

}  // namespace store::redis
