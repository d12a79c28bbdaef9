#include "store/local/local.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "store/local/lock_view.hpp"
#include "store/local/mail.hpp"
#include "store/local/watch.hpp"
#include "store/rules/granted.hpp"

namespace store::local {
namespace {

using Missing = os::Missing;
using rules::Own;

/// Hears what others post to a holder.
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

/// The slot that a claim is for; empty: none.
std::string slot_of(const Claim& claim) {
  return claim.slot ? claim.slot->id : std::string{};
}

NotOurs taken_away() {
  return {"it was taken away"};
}

class LocalStore final : public LockStore {
 public:
  explicit LocalStore(LocalDirectory directory) : directory_{std::move(directory)} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const Moment asked_at = base::now();
    watch_.end();
    if (const auto done = std::exchange(done_, std::nullopt)) {
      const Millis ended_ago{std::max<WallTime>(wall_now() - done->ended_ms, 0)};
      return rules::answer_of(*done, ended_ago);
    }
    // Until the directory is unlocked: those who hear of our pipe's end come to look.
    std::optional<OwnEntry> left;
    auto lock = LockDir::open(directory_, claim.name, Missing::create, limit);
    if (!lock) return std::move(lock).error();
    is_new_ = is_new_ || lock->is_new();
    if (claim.slot && lock->memory() == nullptr) return no_slots();

    // Before the entry counts as removed: its pipe has the message of the process that removed it.
    if (own_) hear();
    if (own_ && find(*lock, claim.token) == nullptr) own_.reset();  // it was removed
    rules::Enter enter{claim};
    // A claim that has been in the queue must not dismiss those that came after it.
    if (was_queued_) enter.claim.supersede.clear();
    const bool crowded =
        !own_ && claim.max_waiters && lock->queue().waiting() >= *claim.max_waiters;
    if (!crowded) enter.claim.max_waiters.reset();
    const bool all = crowded || !enter.claim.supersede.empty();
    auto view = LockView::of(*lock, all ? Waiters::all : Waiters::first, ticket(), slot_of(claim));
    if (!view) return std::move(view).error();
    // A claim that was dismissed as its turn came does not begin: its notice may not be lost.
    if (sent_away_) {
      Queued place{LockView::told(rules::holder_of(view->state(), view->facts())), 0, std::nullopt};
      return own_ ? queued(std::move(place), *lock) : std::move(place);
    }

    auto entered = view->change(enter);
    if (auto entry = view->take_entry()) own_.emplace(*std::move(entry));
    was_queued_ = was_queued_ || own_.has_value();
    if (!entered) return std::move(entered).error();
    return base::match(
        std::move(*entered),
        [&](const rules::Grant& got) -> Attempt {
          const Memory* memory = lock->memory();
          if (memory != nullptr && claim.history > Millis{0}) memory_ = *memory;
          return Granted{lease_of(got, claim, asked_at, Deadline::never())};
        },
        [&](Queued place) -> Attempt {
          place.holder = LockView::told(std::move(place.holder));
          return queued(std::move(place), *lock);
        },
        [&](const Busy& busy) -> Attempt {
          return Busy{LockView::told(busy.holder), lock->queue().waiting()};
        },
        [](const ModeConflict& conflict) -> Attempt { return conflict; },
        [&](const SlotDone& done) -> Attempt {
          left = std::exchange(own_, std::nullopt);
          return done;
        },
        [](const rules::NoHigherFence& none) -> Attempt { return fault_of(none); });
  }

  Turn await_turn(const Claim& /*claim*/, const CallLimit& limit) override {
    if (sent_away_) return *std::exchange(sent_away_, std::nullopt);
    return watch_.wait(own_->pipe, limit, done_);
  }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    if (!own_) return;
    if (auto lock = LockDir::open(directory_, claim.name, Missing::give_up, limit)) {
      // The ticket may be another's, if somebody removed the directory.
      if (find(*lock, claim.token) != nullptr) {
        auto view = LockView::of(*lock, Waiters::first, ticket(), slot_of(claim));
        if (view) (void)view->change(rules::Cancel{claim});
      }
    }
    own_.reset();  // closes the pipe, which tells those who watch it
  }

  Renewal renew(const LockName& name, const Token& token, Ttl /*ttl*/,
                const CallLimit& limit) override {
    const Moment asked_at = base::now();
    if (own_) {
      const auto in_place = own_->pipe.in_place();
      if (!in_place) return fault_of(directory_.path, in_place.error());
      if (!*in_place) return taken_away();
      if (memory_) memory_->touch_runs();
      return Renewed{Deadline::never(), asked_at};
    }
    auto standing = check(name, token, limit);
    if (auto* fault = std::get_if<Fault>(&standing)) return std::move(*fault);
    if (std::holds_alternative<StillOurs>(standing)) return Renewed{Deadline::never(), asked_at};
    return NotOurs{"its holder is gone"};
  }

  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    auto release = let_go(name, token, parting, limit);
    // After the directory is unlocked: those who hear of our pipe's end come to look.
    if (std::holds_alternative<Fault>(release)) return release;
    own_.reset();
    if (is_new_ && !directory_.is_of_gates) LockDir::forget_some(directory_);
    return release;
  }

  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    const QueueEntry* entry = find(*lock, token);
    const auto view = LockView::of(*lock, Waiters::first,
                                   entry != nullptr ? std::optional{entry->ticket} : std::nullopt);
    if (!view) return view.error();
    const auto held = rules::check(view->state(), token, view->facts());
    if (held) return StillOurs{Deadline::never(), held->fence};
    return Elsewhere{LockView::told(rules::holder_of(view->state(), view->facts()))};
  }

  std::unique_ptr<Listener> listener(const LockName& /*name*/, const Token& /*token*/) override {
    if (!own_) return nullptr;
    return std::make_unique<LocalListener>(own_->pipe.duplicate());
  }

  void confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                       const CallLimit& /*limit*/) override {
    // The process that sent the notice watches our pipe.
    own_.reset();
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> ticket() const {
    return own_ ? std::optional{own_->ticket} : std::nullopt;
  }

  /// Reads the messages that arrived while we wait.
  void hear() {
    for (const auto& line : own_->pipe.take()) {
      if (!sent_away_) sent_away_ = notice_in(line);
    }
  }

  Queued queued(Queued place, LockDir& lock) {
    place.ahead = lock.queue().waiting(own_->ticket);
    place.look_in = watch_.begin(lock, own_->ticket);
    return place;
  }

  [[nodiscard]] Fault no_slots() const {
    return {Fault::Kind::misconfigured,
            base::printable(directory_.path) +
                ": everybody may write there, so no slot is remembered: name a directory of your "
                "own, or one that a group may write to (chmod 2770)"};
  }

  /// Our own entry, or that of a token that was given by hand.
  const QueueEntry* find(LockDir& lock, const Token& token) const {
    if (!own_) return lock.queue().find(token);
    const QueueEntry* entry = lock.queue().find(own_->ticket);
    return entry != nullptr && entry->token == token ? entry : nullptr;
  }

  Release let_go(const LockName& name, const Token& token, const Parting& parting,
                 const CallLimit& limit) {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    const QueueEntry* entry = find(*lock, token);
    if (entry == nullptr || !entry->holds()) return taken_away();
    // The waiters for a slot that is done can stop waiting.
    auto view = LockView::of(*lock, parting.slot ? Waiters::all : Waiters::first, entry->ticket,
                             parting.slot ? parting.slot->slot.id : std::string{});
    if (!view) return std::move(view).error();
    auto left = view->change(rules::Leave{token, parting});
    if (!left) return std::move(left).error();
    if (*left != Own::ours) return taken_away();
    return Released{};
  }

  LocalDirectory directory_;
  std::optional<OwnEntry> own_;
  PredecessorWatch watch_;
  std::optional<rules::SlotState> done_;  // what we were told while we waited for this slot
  std::optional<Notice> sent_away_;       // as our turn had come
  bool was_queued_ = false;               // our claim had an entry
  bool is_new_ = false;                   // the lock's directory: we have made it
  std::optional<Memory> memory_;          // of the lock that we hold, if it is to be remembered
};

}  // namespace

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory) {
  return std::make_unique<LocalStore>(directory);
}

}  // namespace store::local
