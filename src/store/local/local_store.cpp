#include "store/local/local_store.hpp"

#include <algorithm>

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
  void listen(const Patience& /*patience*/) override {}
  std::optional<Notice> take() override {
    for (const auto& line : pipe_.take()) {
      if (auto notice = notice_in(line)) return notice;
    }
    return std::nullopt;
  }

 private:
  os::NamedPipe pipe_;
};

class LocalStore final : public LockStore {
 public:
  explicit LocalStore(LocalDirectory directory) : directory_{std::move(directory)} {}

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
  Attempt hold(Ledger& ledger, const Claim& claim, Moment asked_at);
  void give_up_seat(Ledger& ledger);

  LocalDirectory directory_;
  std::optional<Seat> seat_;
  Vigil vigil_;
};

Attempt LocalStore::try_acquire(const Claim& claim, const Patience& patience) {
  const Moment asked_at = base::now();
  auto opened = Ledger::open(directory_, claim.name, Missing::create, patience);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& ledger = std::get<Ledger>(opened);

  if (seat_ && ledger.find(claim.token) == nullptr) seat_.reset();  // somebody took it away
  if (auto mismatch = mismatch_in(ledger, claim.mode)) return *std::move(mismatch);
  if (!seat_) {
    const Entry last{~std::uint64_t{0}, claim.token, claim.mode, 0, std::nullopt, std::nullopt};
    const auto waiting =
        static_cast<std::size_t>(std::count_if(ledger.entries().begin(), ledger.entries().end(),
                                               [](const Entry& each) { return !each.holds(); }));
    const bool crowded = claim.max_waiters && waiting >= *claim.max_waiters;
    if (!ledger.may_hold(last) && (claim.on_busy == OnBusy::give_up || crowded)) {
      return Busy{occupant_in(ledger, claim.token), waiting};
    }
    if (!claim.supersede.empty()) {
      for (const Entry& each : ledger.entries())
        ledger.tell(each.seat, message::stop + claim.supersede);
    }
    seat_ = ledger.take_seat(claim.token, claim.mode);
  }
  return hold(ledger, claim, asked_at);
}

Attempt LocalStore::hold(Ledger& ledger, const Claim& claim, Moment asked_at) {
  const Entry* mine = ledger.find(claim.token);
  const bool again = mine->holds();
  if (!again && !ledger.may_hold(*mine)) return vigil_.begin(ledger, *mine);
  const Fence fence = again ? *mine->fence : ledger.grant(seat_->number);
  if (!again) ledger.wake_next();  // a reader behind a reader, one permit of several
  return Granted{{claim.name, claim.token, claim.ttl, Deadline::never(), fence, asked_at}};
}

Turn LocalStore::await_turn(const Claim& /*claim*/, const Patience& patience) {
  return vigil_.wait(seat_->pipe, patience);
}

void LocalStore::give_up_seat(Ledger& ledger) {
  if (!seat_) return;
  ledger.remove(seat_->number);
  ledger.wake_next();
  seat_.reset();
}

void LocalStore::withdraw(const Claim& claim, const Patience& patience) {
  if (!seat_) return;
  auto opened = Ledger::open(directory_, claim.name, Missing::give_up, patience);
  if (auto* ledger = std::get_if<Ledger>(&opened)) give_up_seat(*ledger);
  seat_.reset();  // which also says so
}

Renewal LocalStore::renew(const LockName& name, const Token& token, Ttl /*ttl*/,
                          const Patience& patience) {
  const Moment asked_at = base::now();
  if (seat_) {
    if (seat_->pipe.in_place()) return Renewed{Deadline::never(), asked_at};
    return NotOurs{"it was taken away"};
  }
  auto standing = check(name, token, patience);
  if (auto* fault = std::get_if<Fault>(&standing)) return std::move(*fault);
  if (std::holds_alternative<StillOurs>(standing)) return Renewed{Deadline::never(), asked_at};
  return NotOurs{"its holder is gone"};
}

Release LocalStore::release(const LockName& name, const Token& token, Millis min_hold,
                            const Patience& patience) {
  auto opened = Ledger::open(directory_, name, Missing::give_up, patience);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& ledger = std::get<Ledger>(opened);
  const Entry* entry = ledger.find(token);
  if (entry == nullptr || !entry->holds()) {
    seat_.reset();
    return NotOurs{"it was taken away"};
  }
  const WallTime until = entry->since + min_hold.count();
  if (until > wall_now()) {
    ledger.keep(entry->seat, until);
    // Whoever is first has to know until when.
    if (const Entry* first = ledger.first_waiter()) ledger.tell(first->seat, message::look);
  } else {
    ledger.remove(entry->seat);
    ledger.wake_next();
  }
  seat_.reset();
  return Released{};
}

Standing LocalStore::check(const LockName& name, const Token& token, const Patience& patience) {
  auto opened = Ledger::open(directory_, name, Missing::give_up, patience);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  const auto& ledger = std::get<Ledger>(opened);
  const Entry* entry = ledger.find(token);
  if (entry != nullptr && entry->holds()) return StillOurs{Deadline::never(), entry->fence};
  return Elsewhere{occupant_in(ledger, token)};
}

std::unique_ptr<Listener> LocalStore::listener(const LockName& /*name*/, const Token& /*token*/) {
  if (!seat_) return nullptr;
  return std::make_unique<LocalListener>(seat_->pipe.duplicate());
}

void LocalStore::confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                                 const Patience& /*patience*/) {
  // Whoever asked watches our pipe.
  seat_.reset();
}

}  // namespace

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory) {
  return std::make_unique<LocalStore>(directory);
}

}  // namespace store::local
