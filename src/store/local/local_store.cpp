#include "store/local/local_store.hpp"

#include "store/local/ledger.hpp"
#include "store/local/terms.hpp"
#include "store/local/vigil.hpp"

namespace store::local {
namespace {

using Missing = os::LockedFile::Missing;

/// Hears what others say to a holder.
class LocalListener final : public Listener {
 public:
  explicit LocalListener(os::NamedPipe pipe) : pipe_{std::move(pipe)} {}
  [[nodiscard]] int descriptor() const override { return pipe_.descriptor(); }
  [[nodiscard]] Deadline due() const override { return Deadline::never(); }
  void listen(const CallLimit& /*limit*/) override {}
  std::optional<Notice> take() override {
    for (const auto& line : pipe_.take()) {
      if (auto notice = notice_in(line)) return notice;
    }
    return std::nullopt;
  }

 private:
  os::NamedPipe pipe_;
};

/// Nothing: whoever claims may have a seat.
std::optional<Busy> refusal(Ledger& ledger, const Claim& claim) {
  if (ledger.may_hold(Roster::at_the_end, claim.mode)) return std::nullopt;
  Roster& roster = ledger.roster();
  bool busy = claim.on_busy == OnBusy::give_up;
  if (!busy && claim.max_waiters && roster.waiting() >= *claim.max_waiters) {
    (void)roster.everyone();  // takes those away that are gone
    busy = roster.waiting() >= *claim.max_waiters;
  }
  if (!busy) return std::nullopt;
  return Busy{occupant_in(roster.holders(), claim.token), roster.waiting()};
}

class LocalStore final : public LockStore {
 public:
  explicit LocalStore(LocalDirectory directory) : directory_{std::move(directory)} {}

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
  Attempt hold(Ledger& ledger, const Claim& claim, Moment asked_at);
  /// Ours, or by hand somebody else's.
  const Entry* find(Ledger& ledger, const Token& token) const;
  Release let_go(const LockName& name, const Token& token, Millis min_hold, const CallLimit& limit);

  LocalDirectory directory_;
  std::optional<Seat> seat_;
  Vigil vigil_;
};

Attempt LocalStore::try_acquire(const Claim& claim, const CallLimit& limit) {
  const Moment asked_at = base::now();
  vigil_.end();
  auto opened = Ledger::open(directory_, claim.name, Missing::create, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& ledger = std::get<Ledger>(opened);

  if (seat_ && find(ledger, claim.token) == nullptr) seat_.reset();  // somebody took it away
  if (seat_) return hold(ledger, claim, asked_at);
  if (auto mismatch = mismatch_in(ledger.roster(), claim.mode)) return *std::move(mismatch);
  if (auto busy = refusal(ledger, claim)) return *std::move(busy);
  if (!claim.supersede.empty()) {
    for (const Entry& each : ledger.roster().everyone())
      ledger.tell(each.seat, message::stop + claim.supersede);
  }
  seat_ = ledger.take_seat(claim.token, claim.mode);
  return hold(ledger, claim, asked_at);
}

Attempt LocalStore::hold(Ledger& ledger, const Claim& claim, Moment asked_at) {
  const Entry mine = *ledger.roster().find(seat_->number);
  const bool again = mine.holds();
  if (!again && !ledger.may_hold(mine.seat, mine.mode)) return vigil_.begin(ledger, mine);
  const Fence fence = again ? *mine.fence : ledger.grant(mine.seat);
  if (!again && claim.mode.kind == Mode::Kind::permits) {
    ledger.wake_first();  // it has others to watch now than us
  } else if (!again) {
    ledger.wake_next();  // a reader behind a reader
  }
  return Granted{{claim.name, claim.token, claim.ttl, Deadline::never(), fence, asked_at}};
}

const Entry* LocalStore::find(Ledger& ledger, const Token& token) const {
  if (!seat_) return ledger.roster().find(token);
  const Entry* entry = ledger.roster().find(seat_->number);
  return entry != nullptr && entry->token == token ? entry : nullptr;
}

Turn LocalStore::await_turn(const Claim& /*claim*/, const CallLimit& limit) {
  return vigil_.wait(seat_->pipe, limit);
}

void LocalStore::withdraw(const Claim& claim, const CallLimit& limit) {
  if (!seat_) return;
  if (auto opened = Ledger::open(directory_, claim.name, Missing::give_up, limit);
      auto* ledger = std::get_if<Ledger>(&opened)) {
    // The number may be another's, if somebody took the directory away.
    if (find(*ledger, claim.token) != nullptr) ledger->roster().remove(seat_->number);
    ledger->wake_next();
  }
  seat_.reset();  // which also says so
}

Renewal LocalStore::renew(const LockName& name, const Token& token, Ttl /*ttl*/,
                          const CallLimit& limit) {
  const Moment asked_at = base::now();
  if (seat_) {
    if (seat_->pipe.in_place()) return Renewed{Deadline::never(), asked_at};
    return NotOurs{"it was taken away"};
  }
  auto standing = check(name, token, limit);
  if (auto* fault = std::get_if<Fault>(&standing)) return std::move(*fault);
  if (std::holds_alternative<StillOurs>(standing)) return Renewed{Deadline::never(), asked_at};
  return NotOurs{"its holder is gone"};
}

Release LocalStore::release(const LockName& name, const Token& token, Millis min_hold,
                            const CallLimit& limit) {
  auto release = let_go(name, token, min_hold, limit);
  // With the ledger open to others: who hears of our pipe's end comes to look.
  if (!std::holds_alternative<Fault>(release)) seat_.reset();
  return release;
}

Release LocalStore::let_go(const LockName& name, const Token& token, Millis min_hold,
                           const CallLimit& limit) {
  auto opened = Ledger::open(directory_, name, Missing::give_up, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& ledger = std::get<Ledger>(opened);
  const Entry* entry = find(ledger, token);
  if (entry == nullptr || !entry->holds()) return NotOurs{"it was taken away"};
  const auto seat = entry->seat;
  const WallTime until = entry->since + min_hold.count();
  if (until > wall_now()) {
    if (const auto kept = ledger.keep(seat, until); !kept) {
      return Fault{Fault::Kind::unavailable,
                   "--min-hold cannot be written: " + kept.error().text()};
    }
    ledger.wake_first();  // it has to know until when
  } else {
    ledger.roster().remove(seat);
    ledger.wake_next();
  }
  return Released{};
}

Standing LocalStore::check(const LockName& name, const Token& token, const CallLimit& limit) {
  auto opened = Ledger::open(directory_, name, Missing::give_up, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& ledger = std::get<Ledger>(opened);
  const Entry* entry = find(ledger, token);
  if (entry != nullptr && entry->holds()) return StillOurs{Deadline::never(), entry->fence};
  return Elsewhere{occupant_in(ledger.roster().holders(), token)};
}

std::unique_ptr<Listener> LocalStore::listener(const LockName& /*name*/, const Token& /*token*/) {
  if (!seat_) return nullptr;
  return std::make_unique<LocalListener>(seat_->pipe.duplicate());
}

void LocalStore::confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                                 const CallLimit& /*limit*/) {
  // Whoever asked watches our pipe.
  seat_.reset();
}

}  // namespace

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory) {
  return std::make_unique<LocalStore>(directory);
}

}  // namespace store::local
