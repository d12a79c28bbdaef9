#include "store/zookeeper/zookeeper_store.hpp"

#include <algorithm>

#include "store/zookeeper/enrolment.hpp"
#include "store/zookeeper/lease_rule.hpp"
#include "store/zookeeper/line.hpp"
#include "store/zookeeper/reading.hpp"
#include "store/zookeeper/session.hpp"
#include "store/zookeeper/zookeeper_listener.hpp"

namespace store::zookeeper {
namespace {

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

class ZooKeeperStore final : public LockStore {
 public:
  explicit ZooKeeperStore(ZooKeeper ensemble) : ensemble_{std::move(ensemble)} {}

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
  std::optional<Fault> connect(Millis session, const Patience& patience);
  Fault after_silence(Fault fault, const Patience& patience);
  Attempt claim_place(const Claim& claim, const Patience& patience);
  Attempt look(const Claim& claim, Moment asked_at, const Patience& patience);
  Attempt hold(const Claim& claim, Moment asked_at, const Patience& patience);
  Attempt wait_behind(const Line& line, std::size_t place, const Patience& patience);

  ZooKeeper ensemble_;
  std::shared_ptr<Session> session_;
  std::string place_;    // the lock's node
  std::string node_;     // ours; empty while there is none
  std::string blocker_;  // whom we wait for
};

std::optional<Fault> ZooKeeperStore::connect(Millis session, const Patience& patience) {
  if (session_ && session_->expired()) {
    session_.reset();
    node_.clear();
  }
  if (session_) return std::nullopt;
  auto opened = Session::open(ensemble_, session, patience);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  session_ = std::get<std::unique_ptr<Session>>(std::move(opened));
  return std::nullopt;
}

/// Whoever is asked once more is to be another server, if this one had all the time there was.
Fault ZooKeeperStore::after_silence(Fault fault, const Patience& patience) {
  if (session_ && patience.until.passed(base::now())) session_->leave();
  return fault;
}

Attempt ZooKeeperStore::try_acquire(const Claim& claim, const Patience& patience) {
  auto attempt = claim_place(claim, patience);
  if (auto* fault = std::get_if<Fault>(&attempt)) return after_silence(std::move(*fault), patience);
  return attempt;
}

Attempt ZooKeeperStore::claim_place(const Claim& claim, const Patience& patience) {
  const Moment asked_at = base::now();
  place_ = path_of(ensemble_, claim.name);
  if (auto fault = connect(session_for(claim.ttl), patience)) return *std::move(fault);
  auto children = session_->children(place_, patience);
  if (auto* fault = std::get_if<Fault>(&children)) return std::move(*fault);
  const Line line = line_of(std::get<std::vector<std::string>>(children));
  const auto mine = place_of(line, claim.token);
  node_ = mine ? place_ + "/" + line[*mine].name : "";
  if (mine) {
    // All this may be old, if the server is cut off from the others: the session could have ended,
    // and somebody else hold the lock. A node that is made now proves as much by itself.
    const auto there = session_->confirm(node_, patience);
    if (const auto* fault = std::get_if<Fault>(&there)) return *fault;
    if (!std::get<bool>(there)) return place_lost();
  } else {
    // Who only asks does not get into the others' way.
    const Contender last{"", claim.mode.kind == Mode::Kind::shared, 0};
    Line with_us = line;
    with_us.push_back(last);
    const auto blocker = blocker_of(with_us, line.size());
    if (blocker && claim.on_busy == OnBusy::give_up) {
      return Busy{occupant_in(*session_, place_, line, patience), line.size() - holders_in(line)};
    }
    auto made = stand_in_line(*session_, place_, claim, patience);
    if (auto* fault = std::get_if<Fault>(&made)) return std::move(*fault);
    node_ = std::get<std::string>(std::move(made));
  }
  return look(claim, asked_at, patience);
}

Attempt ZooKeeperStore::look(const Claim& claim, Moment asked_at, const Patience& patience) {
  auto children = session_->children(place_, patience);
  if (auto* fault = std::get_if<Fault>(&children)) return std::move(*fault);
  const Line line = line_of(std::get<std::vector<std::string>>(children));
  const auto place = place_of(line, claim.token);
  if (!place) return place_lost();
  if (!blocker_of(line, *place)) return hold(claim, asked_at, patience);
  if (claim.on_busy == OnBusy::queue) return wait_behind(line, *place, patience);
  const auto erased = session_->erase(node_, patience);
  if (const auto* fault = std::get_if<Fault>(&erased)) return *fault;
  node_.clear();
  return Busy{occupant_in(*session_, place_, line, patience), *place - holders_in(line)};
}

Attempt ZooKeeperStore::hold(const Claim& claim, Moment asked_at, const Patience& patience) {
  auto content = session_->get(node_, Session::Watch::no, patience);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  const auto& node = std::get<std::optional<Node>>(content);
  if (!node || !session_->is_ours(node->stat)) return place_lost();
  blocker_.clear();
  const Ttl lease = lease_within(session_->timeout(), claim.ttl);
  return Granted{{claim.name, claim.token, lease, validity(asked_at, lease),
                  static_cast<Fence>(node->stat.czxid), asked_at}};
}

Attempt ZooKeeperStore::wait_behind(const Line& line, std::size_t place, const Patience& patience) {
  blocker_ = place_ + "/" + line[*blocker_of(line, place)].name;
  auto content = session_->get(blocker_, Session::Watch::yes, patience);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  Queued queued{occupant_in(*session_, place_, line, patience), place - holders_in(line),
                std::nullopt};
  // Gone in between: there is nothing to wait for.
  if (!std::get<std::optional<Node>>(content)) blocker_.clear();
  return queued;
}

Turn ZooKeeperStore::await_turn(const Claim& /*claim*/, const Patience& patience) {
  if (blocker_.empty()) return ClaimAgain{};
  const bool turn = session_->process(
      patience, [&] { return session_->changed(blocker_) || session_->expired(); });
  if (turn) return ClaimAgain{};
  return StillWaiting{};
}

void ZooKeeperStore::withdraw(const Claim& claim, const Patience& patience) {
  if (!session_) return;
  (void)release(claim.name, claim.token, {}, patience);
  // A node that was made unheard goes with the session.
  session_.reset();
  node_.clear();
}

Renewal ZooKeeperStore::renew(const LockName& /*name*/, const Token& /*token*/, Ttl ttl,
                              const Patience& patience) {
  if (!session_ || node_.empty()) return NotOurs{"it was not taken by this process"};
  const Moment asked_at = base::now();
  const auto there = session_->confirm(node_, patience);
  if (session_->expired()) return NotOurs{"the session has expired"};
  if (const auto* fault = std::get_if<Fault>(&there)) return after_silence(*fault, patience);
  if (!std::get<bool>(there)) return NotOurs{"its node is gone"};
  return Renewed{validity(asked_at, ttl), asked_at};
}

Release ZooKeeperStore::release(const LockName& /*name*/, const Token& /*token*/,
                                Millis /*min_hold*/, const Patience& patience) {
  if (!session_ || node_.empty()) return NotOurs{"it was not taken by this process"};
  if (session_->expired()) return NotOurs{"the session has expired"};
  const auto now = base::now();
  const Patience half = patience.at_most(Deadline::after(now, patience.until.left(now) / 2));
  auto erased = session_->erase(node_, half);
  const auto* unheard = std::get_if<Fault>(&erased);
  if (unheard != nullptr && unheard->kind == Fault::Kind::silent) {
    // The other half is another server's. That our node is gone then was our doing.
    session_->leave();
    erased = session_->erase(node_, patience);
    if (std::holds_alternative<bool>(erased)) erased = true;
  }
  if (const auto* fault = std::get_if<Fault>(&erased)) return *fault;
  node_.clear();
  if (!std::get<bool>(erased)) return NotOurs{"its node is gone"};
  return Released{};
}

Standing ZooKeeperStore::check(const LockName& name, const Token& token, const Patience& patience) {
  if (auto fault = connect(session_for(*Ttl::from(Ttl::shortest)), patience)) {
    return *std::move(fault);
  }
  const std::string place = path_of(ensemble_, name);
  auto children = session_->children(place, patience);
  if (auto* fault = std::get_if<Fault>(&children)) return std::move(*fault);
  const Line line = line_of(std::get<std::vector<std::string>>(children));
  const auto mine = place_of(line, token);
  if (!mine || *mine >= holders_in(line)) {
    return Elsewhere{occupant_in(*session_, place, line, patience)};
  }
  const std::string path = place + "/" + line[*mine].name;
  auto content = session_->get(path, Session::Watch::no, patience);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  const auto there = session_->confirm(path, patience);  // what was read may be old
  if (const auto* fault = std::get_if<Fault>(&there)) return *fault;
  const auto& node = std::get<std::optional<Node>>(content);
  if (!node || !std::get<bool>(there)) return Elsewhere{};
  // How long another process's session lasts is known to nobody but the ensemble; that process
  // stops the job in time.
  return StillOurs{Deadline::never(), static_cast<Fence>(node->stat.czxid)};
}

std::unique_ptr<Listener> ZooKeeperStore::listener(const LockName& /*name*/, const Token& token) {
  if (!session_ || node_.empty()) return nullptr;
  return open_listener(session_, node_, last_word_of(ensemble_, token));
}

void ZooKeeperStore::confirm_stopped(const LockName& /*name*/, const Notice& notice,
                                     const Patience& patience) {
  // Who asked us to stop watches our node; who took that away has to be told. It goes with the
  // session, which ends soon.
  if (notice.kind != Notice::Kind::lost || !session_ || notice.reply_to.empty()) return;
  (void)session_->create(notice.reply_to, "", ZOO_EPHEMERAL, patience);
}

}  // namespace

const char* unavailable() {
  return nullptr;
}

std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble) {
  return std::make_unique<ZooKeeperStore>(ensemble);
}

}  // namespace store::zookeeper
