#include "store/zookeeper/zookeeper_store.hpp"

#include "store/zookeeper/candidacy.hpp"
#include "store/zookeeper/lease_rule.hpp"
#include "store/zookeeper/line.hpp"
#include "store/zookeeper/reading.hpp"
#include "store/zookeeper/session.hpp"
#include "store/zookeeper/zookeeper_listener.hpp"

namespace store::zookeeper {
namespace {

class ZooKeeperStore final : public LockStore {
 public:
  explicit ZooKeeperStore(ZooKeeper ensemble) : ensemble_{std::move(ensemble)} {}

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
  std::optional<Fault> connect(Millis session, const CallLimit& limit);
  Fault after_silence(Fault fault, const CallLimit& limit);

  ZooKeeper ensemble_;
  std::shared_ptr<Session> session_;
  Stand stand_;
  bool unheard_ = false;  // what became of the last claim
};

std::optional<Fault> ZooKeeperStore::connect(Millis session, const CallLimit& limit) {
  if (session_ && session_->expired()) {
    session_.reset();
    stand_.node.clear();
  }
  if (session_) return std::nullopt;
  auto opened = Session::open(ensemble_, session, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  session_ = std::get<std::unique_ptr<Session>>(std::move(opened));
  return std::nullopt;
}

/// Whoever is asked once more is to be another server, if this one had all the time there was.
Fault ZooKeeperStore::after_silence(Fault fault, const CallLimit& limit) {
  if (session_ && limit.until.passed(base::now())) session_->leave();
  return fault;
}

Attempt ZooKeeperStore::try_acquire(const Claim& claim, const CallLimit& limit) {
  if (auto fault = connect(session_for(claim.ttl), limit)) return *std::move(fault);
  const Moment asked_at = base::now();  // a first server that hangs costs nothing of the lease
  stand_.place = path_of(ensemble_, claim.name);
  auto attempt = apply(*session_, claim, stand_, asked_at, limit);
  unheard_ = std::holds_alternative<Fault>(attempt);
  if (auto* fault = std::get_if<Fault>(&attempt)) return after_silence(std::move(*fault), limit);
  return attempt;
}

Turn ZooKeeperStore::await_turn(const Claim& /*claim*/, const CallLimit& limit) {
  if (stand_.blocker.empty()) return ClaimAgain{};
  const bool turn = session_->process(
      limit, [&] { return session_->changed(stand_.blocker) || session_->expired(); });
  if (turn) return ClaimAgain{};
  return StillWaiting{};
}

void ZooKeeperStore::withdraw(const Claim& claim, const CallLimit& limit) {
  if (!session_) return;
  (void)release(claim.name, claim.token, {}, limit);
  // A node that was made unheard goes with the session, which ends with a goodbye that is heard.
  if (unheard_) (void)session_->await(limit);
  session_.reset();
  stand_.node.clear();
}

Renewal ZooKeeperStore::renew(const LockName& /*name*/, const Token& /*token*/, Ttl ttl,
                              const CallLimit& limit) {
  if (!session_ || stand_.node.empty()) return NotOurs{"it was not taken by this process"};
  const Moment asked_at = base::now();
  const auto there = session_->confirm(stand_.node, limit);
  if (session_->expired()) return NotOurs{"the session has expired"};
  if (const auto* fault = std::get_if<Fault>(&there)) return after_silence(*fault, limit);
  if (!std::get<bool>(there)) return NotOurs{"its node is gone"};
  return Renewed{validity(asked_at, ttl), asked_at};
}

Release ZooKeeperStore::release(const LockName& /*name*/, const Token& /*token*/,
                                Millis /*min_hold*/, const CallLimit& limit) {
  if (!session_ || stand_.node.empty()) return NotOurs{"it was not taken by this process"};
  if (session_->expired()) return NotOurs{"the session has expired"};
  const auto now = base::now();
  const CallLimit half = limit.at_most(Deadline::after(now, limit.until.left(now) / 2));
  auto erased = session_->erase(stand_.node, half);
  const auto* unheard = std::get_if<Fault>(&erased);
  if (unheard != nullptr && unheard->kind != Fault::Kind::denied) {
    // The other half is another server's. That our node is gone then was our doing.
    session_->leave();
    erased = session_->erase(stand_.node, limit);
    if (std::holds_alternative<bool>(erased)) erased = true;
  }
  if (const auto* fault = std::get_if<Fault>(&erased)) return *fault;
  stand_.node.clear();
  if (!std::get<bool>(erased)) return NotOurs{"its node is gone"};
  return Released{};
}

Standing ZooKeeperStore::check(const LockName& name, const Token& token, const CallLimit& limit) {
  if (auto fault = connect(session_for(*Ttl::from(Ttl::shortest)), limit)) {
    return *std::move(fault);
  }
  const std::string place = path_of(ensemble_, name);
  auto read = line_at(*session_, place, limit);
  if (auto* fault = std::get_if<Fault>(&read)) return std::move(*fault);
  const Line& line = std::get<Line>(read);
  const auto mine = place_of(line, token);
  if (!mine || *mine >= holders_in(line)) {
    return Elsewhere{occupant_in(*session_, place, line, limit)};
  }
  const std::string path = place + "/" + line[*mine].name;
  auto content = session_->get(path, Session::Watch::no, limit);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  const auto there = session_->confirm(path, limit);  // what was read may be old
  if (const auto* fault = std::get_if<Fault>(&there)) return *fault;
  const auto& node = std::get<std::optional<Node>>(content);
  if (!node || !std::get<bool>(there)) return Elsewhere{};
  // How long another process's session lasts is known to nobody but the ensemble; that process
  // stops the job in time.
  return StillOurs{Deadline::never(), static_cast<Fence>(node->stat.czxid)};
}

std::unique_ptr<Listener> ZooKeeperStore::listener(const LockName& /*name*/, const Token& token) {
  if (!session_ || stand_.node.empty()) return nullptr;
  return open_listener(session_, stand_.node, last_word_of(ensemble_, token));
}

void ZooKeeperStore::confirm_stopped(const LockName& /*name*/, const Notice& notice,
                                     const CallLimit& limit) {
  // Who asked us to stop watches our node; who took that away has to be told. It goes with the
  // session, which ends soon.
  if (notice.kind != Notice::Kind::lost || !session_ || notice.reply_to.empty()) return;
  (void)session_->create(notice.reply_to, "", ZOO_EPHEMERAL, limit);
}

}  // namespace

const char* unavailable() {
  return nullptr;
}

std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble) {
  return std::make_unique<ZooKeeperStore>(ensemble);
}

}  // namespace store::zookeeper
