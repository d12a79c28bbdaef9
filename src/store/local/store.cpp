#include "store/local/local.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "store/local/lock_dir.hpp"
#include "store/rules/runs.hpp"

namespace store::local {
namespace {

using Missing = os::Missing;

// The kernel tells of the end of a holder; where it cannot (another user's pipe that we may not
// open, or too many to watch), we look again after this time.
constexpr Millis look_again{1'000};
// A waiter that was told to claim and does not is passed then. Those who wait behind one that was
// stopped look whether it is so, the nearer the more often.
constexpr Millis answer_time = LockDir::longest_silence + Millis{50};
// Those who hold a gate are asked whether they answer; it wakes them.
constexpr Millis ask_again{5'000};

/// What a waiter watches: the first one the holders, every other one the waiter before it, so that
/// a crash wakes one process and no herd. An orderly release is posted to the pipes.
class PredecessorWatch {
 public:
  /// Begins to watch; says what our position is. `others_turn`: a waiter was told to claim just
  /// now.
  Queued begin(LockDir& lock, const QueueEntry& mine, bool others_turn);
  void end();
  /// Until something happened, or limit ended. `done`: here is put what we are told of our slot.
  Turn wait(os::NamedPipe& pipe, const CallLimit& limit,
            std::optional<rules::SlotState>& done) const;

 private:
  /// When to look again, if the kernel will not tell.
  std::optional<Millis> watch(const LockDir& lock, const QueueEntry& other);

  std::vector<os::Fd> watched_;
  Deadline look_at_ = Deadline::never();
  bool asked_ = false;  // who holds the gate, whether they answer
};

std::optional<Millis> PredecessorWatch::watch(const LockDir& lock, const QueueEntry& other) {
  // Kept beyond its process's end: no hang-up will tell of it.
  if (const auto now = wall_now(); other.kept_until && *other.kept_until > now) {
    return Millis{*other.kept_until - now + 1};
  }
  if (watched_.size() == LockDir::most_watched()) return look_again;
  if (auto fd = lock.watch(other.ticket)) {
    watched_.push_back(std::move(fd));
    return std::nullopt;
  }
  return lock.lives(other.ticket) ? look_again : Millis{0};
}

Queued PredecessorWatch::begin(LockDir& lock, const QueueEntry& mine, bool others_turn) {
  Queue& queue = lock.queue();
  const auto holders = queue.holders();
  Queued queued{first_holder(holders, mine.token, wall_now()), queue.waiting(mine.ticket),
                std::nullopt};
  const auto look_in = [&](Millis length) {
    queued.look_in = std::min(queued.look_in.value_or(length), length);
  };
  const auto look_at = [&](const QueueEntry& other) {
    if (const auto length = watch(lock, other)) look_in(*length);
  };
  if (const QueueEntry* before = queue.waiter_before(mine.ticket)) {
    look_at(*before);
    const Millis a_while = look_again * static_cast<Millis::rep>(1 + queued.ahead);
    // The first one, which does so more often, may be stopped as well.
    if (lock.is_gate()) lock.ask_holders();
    look_in(others_turn ? answer_time : a_while);
  } else {
    for (const QueueEntry& each : holders) look_at(each);
    asked_ = lock.is_gate() && !asked_;
    if (asked_) lock.ask_holders();
    if (lock.is_gate()) look_in(asked_ ? answer_time : ask_again);
  }
  look_at_ = queued.look_in ? Deadline::after(base::now(), *queued.look_in) : Deadline::never();
  return queued;
}

void PredecessorWatch::end() {
  watched_.clear();
  look_at_ = Deadline::never();
}

Turn PredecessorWatch::wait(os::NamedPipe& pipe, const CallLimit& limit,
                            std::optional<rules::SlotState>& done) const {
  std::vector<int> pipes;
  pipes.reserve(watched_.size());
  for (const auto& fd : watched_) pipes.push_back(fd.number());
  const bool one_ended = os::wait_any({pipe.descriptor()}, pipes, limit.at_most(look_at_));
  bool told = false;
  for (const auto& line : pipe.take()) {
    if (auto notice = notice_in(line)) return *std::move(notice);
    if (auto slot = done_in(line)) done = std::move(slot->state);
    told = true;
  }
  if (told || one_ended || look_at_.passed(base::now())) return ClaimAgain{};
  return StillWaiting{};
}

/// What the lock remembers, of runs whose end nobody wrote down only the holders' going on.
std::vector<Run> remembered_runs(LockDir& lock) {
  const Memory* memory = lock.memory();
  return memory != nullptr ? memory->runs(tokens_of(lock.queue().holders())) : std::vector<Run>{};
}

/// What the holder wants the lock for.
void add_reason(std::optional<Holder>& holder, const std::vector<Run>& runs) {
  if (!holder) return;
  for (const Run& run : runs) {
    if (run.token.text() == holder->token) holder->reason = run.reason;
  }
}

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

/// Why the claim may not even queue; nothing if it may.
std::optional<Busy> refusal(LockDir& lock, const Claim& claim) {
  if (lock.may_hold(Queue::at_the_end, claim.mode)) return std::nullopt;
  Queue& queue = lock.queue();
  bool busy = claim.on_busy == OnBusy::give_up;
  if (!busy && claim.max_waiters && queue.waiting() >= *claim.max_waiters) {
    (void)queue.everyone();  // removes dead entries
    busy = queue.waiting() >= *claim.max_waiters;
  }
  if (!busy) return std::nullopt;
  auto holder = first_holder(queue.holders(), claim.token, wall_now());
  add_reason(holder, remembered_runs(lock));
  return Busy{std::move(holder), queue.waiting()};
}

/// A full disk, mostly.
Fault not_written(const LockDir& lock, const os::Error& error) {
  return {error.number == 0 ? Fault::Kind::denied : Fault::Kind::unavailable,
          "writing in " + lock.path() + ": " + error.text()};
}

Attempt granted(const Claim& claim, const QueueEntry& mine, rules::RunNumber number,
                Moment asked_at) {
  Lease lease{claim.name,  claim.token, claim.ttl,      Deadline::never(),
              *mine.fence, asked_at,    number.attempt, number.failures};
  lease.permit = mine.permit;
  lease.resource = claim.mode.name_of(lease.permit);
  return Granted{std::move(lease)};
}

Attempt outcome_of(const rules::SlotState& done) {
  return SlotDone{Token::foreign(done.token), done.fence, done.runs.attempt, done.outcome,
                  Millis{std::max<WallTime>(wall_now() - done.ended_ms, 0)}};
}

/// `token` was granted the lock, and nobody ran for the slot.
void undo_run(const Memory& memory, const Slot& slot, const std::string& token, Millis history) {
  const auto before = memory.slot(slot.id);
  if (!before) return;
  const auto after = rules::without_run(*before, token);
  if (after != *before) (void)memory.write_slot(slot.id, after, history);
}

/// Before the lock is given back. The slot first: one that could not be written is not done, and
/// then no run may seem to have done it. Else what cannot be written leaves the run looking lost.
os::Result<os::Done> remember_end(LockDir& lock, const QueueEntry& mine, const Parting& parting) {
  const Memory& memory = *lock.memory();
  if (!parting.end) {
    memory.erase_run(mine.token);
    if (parting.slot) undo_run(memory, parting.slot->slot, mine.token.text(), parting.history);
    return os::Done{};
  }
  const Millis history = parting.history + parting.min_hold;
  if (!parting.slot) {
    memory.end_run(mine.token, *parting.end, history);
    return os::Done{};
  }
  const std::string& id = parting.slot->slot.id;
  const auto before = memory.slot(id);
  if (!before) return before.error();
  const auto after = rules::after_run(
      *before, rules::end_of_run(mine.token, parting, mine.fence.value_or(0), wall_now()));
  if (after != *before) {
    if (auto written = memory.write_slot(id, after, history); !written) return written;
  }
  memory.end_run(mine.token, *parting.end, history);
  if (after.is_done()) lock.dismiss({id, wall_now() + history.count(), after});
  return os::Done{};
}

class LocalStore final : public LockStore {
 public:
  explicit LocalStore(LocalDirectory directory) : directory_{std::move(directory)} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const Moment asked_at = base::now();
    watch_.end();
    if (done_) return outcome_of(*std::exchange(done_, std::nullopt));
    // Until the directory is unlocked: those who hear of our pipe's end come to look.
    std::optional<OwnEntry> left;
    auto lock = LockDir::open(directory_, claim.name, Missing::create, limit);
    if (!lock) return std::move(lock).error();

    is_new_ = is_new_ || lock->is_new();
    if (own_ && find(*lock, claim.token) == nullptr) own_.reset();  // it was removed
    if (own_ && lock->queue().find(own_->ticket)->holds()) return hold(*lock, claim, asked_at);
    if (claim.slot) {
      auto done = done_slot(*lock, claim);
      if (!done) return std::move(done).error();
      if (*done) {
        left = std::exchange(own_, std::nullopt);
        return outcome_of(**done);
      }
    }
    if (own_) return hold(*lock, claim, asked_at);
    if (auto conflict = lock->conflict_with(claim.mode)) return *std::move(conflict);
    if (auto busy = refusal(*lock, claim)) return *std::move(busy);
    if (!claim.supersede.empty()) {
      for (const QueueEntry& each : lock->queue().everyone()) {
        if (claim.spare_holders && each.holds()) continue;
        lock->post(each.ticket, message::stop + claim.supersede);
      }
    }
    auto own = lock->enqueue(claim);
    if (!own) return not_written(*lock, own.error());
    own_.emplace(*std::move(own));
    return hold(*lock, claim, asked_at);
  }

  Turn await_turn(const Claim& /*claim*/, const CallLimit& limit) override {
    if (sent_away_) return *std::exchange(sent_away_, std::nullopt);
    return watch_.wait(own_->pipe, limit, done_);
  }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    if (!own_) return;
    if (auto lock = LockDir::open(directory_, claim.name, Missing::give_up, limit)) {
      // The ticket may be another's, if somebody removed the directory.
      if (const QueueEntry* mine = find(*lock, claim.token)) {
        if (mine->holds() && lock->memory() != nullptr) {
          lock->memory()->erase_run(claim.token);
          if (claim.slot) undo_run(*lock->memory(), *claim.slot, claim.token.text(), claim.history);
        }
        lock->queue().remove(own_->ticket);
      }
      lock->wake_next();
    }
    own_.reset();  // closes the pipe, which tells those who watch it
  }

  Renewal renew(const LockName& name, const Token& token, Ttl /*ttl*/,
                const CallLimit& limit) override {
    const Moment asked_at = base::now();
    if (own_) {
      if (!own_->pipe.in_place()) return NotOurs{"it was taken away"};
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
    if (entry != nullptr && entry->holds()) return StillOurs{Deadline::never(), entry->fence};
    return Elsewhere{first_holder(lock->queue().holders(), token, wall_now())};
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
  Attempt hold(LockDir& lock, const Claim& claim, Moment asked_at) {
    const QueueEntry mine = *lock.queue().find(own_->ticket);
    const bool again = mine.holds();
    // Who was sent away as its turn came does not begin: nobody may be stopped for that any more.
    for (const auto& line : again ? std::vector<std::string>{} : own_->pipe.take()) {
      if (!sent_away_) sent_away_ = notice_in(line);
    }
    if (!again && (sent_away_ || !lock.may_hold(mine.ticket, mine.mode))) {
      const bool others_turn = lock.wake_next();
      auto queued = watch_.begin(lock, mine, others_turn);
      const auto runs = remembered_runs(lock);
      add_reason(queued.holder, runs);
      queued.typical_run = rules::typical_length(runs);
      return queued;
    }
    if (!again) return take(lock, claim, asked_at);
    return granted(claim, mine, number_, asked_at);
  }

  /// Makes our waiter the holder, also in what is remembered.
  Attempt take(LockDir& lock, const Claim& claim, Moment asked_at) {
    const Memory* memory = lock.memory();
    const std::string& token = claim.token.text();
    number_ = {};
    // First: a run for a slot that could not be written down would be done once more.
    if (claim.slot) {
      const auto before = memory->slot(claim.slot->id);
      if (!before) return not_written(lock, before.error());
      number_ = rules::next_run(*before, token);
      const auto slot = rules::with_run(*before, token, number_);
      if (auto written = memory->write_slot(claim.slot->id, slot, claim.history); !written)
        return not_written(lock, written.error());
    }
    const auto others =
        memory != nullptr ? tokens_of(lock.queue().holders()) : std::vector<std::string>{};
    const auto mine = lock.grant(own_->ticket);
    if (!mine) {
      if (claim.slot) undo_run(*memory, *claim.slot, token, claim.history);
      return not_written(lock, mine.error());
    }
    if (memory != nullptr && claim.history > Millis{0}) {
      memory->begin_run(claim, *mine->fence, number_.attempt, others);
      memory_ = *memory;
    }
    if (claim.mode.kind == Mode::Kind::permits) {
      lock.wake_first();  // it has other holders to watch now
    } else {
      lock.wake_next();  // a reader behind a reader
    }
    return granted(claim, *mine, number_, asked_at);
  }

  /// The slot of the claim, if it is done: then we wait no more.
  Result<std::optional<rules::SlotState>> done_slot(LockDir& lock, const Claim& claim) {
    const Memory* memory = lock.memory();
    if (memory == nullptr) {
      return Fault{Fault::Kind::misconfigured,
                   base::printable(directory_.path) +
                       ": everybody may write there, so no slot is remembered: name a directory of "
                       "your own, or one that a group may write to (chmod 2770)"};
    }
    auto slot = memory->slot(claim.slot->id);
    if (!slot) return not_written(lock, slot.error());
    if (!slot->is_done()) return std::optional<rules::SlotState>{};
    if (own_) {
      // We would have been told, had whoever did it not died over that.
      lock.queue().remove(own_->ticket);
      lock.dismiss({claim.slot->id, wall_now() + claim.history.count(), *slot});
      lock.wake_next();
    }
    return std::optional{*std::move(slot)};
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
    if (entry == nullptr || !entry->holds()) return NotOurs{"it was taken away"};
    const auto ticket = entry->ticket;
    const WallTime until = entry->since + parting.min_hold.count();
    if (lock->memory() != nullptr) {
      const auto remembered = remember_end(*lock, QueueEntry{*entry}, parting);
      if (!remembered) return not_written(*lock, remembered.error());
    }
    if (until > wall_now()) {
      if (const auto kept = lock->keep_until(ticket, until); !kept) {
        return Fault{Fault::Kind::unavailable,
                     "--min-hold cannot be written: " + kept.error().text()};
      }
      lock->wake_first();  // it must learn until when
    } else {
      lock->queue().remove(ticket);
      lock->wake_next();
    }
    return Released{};
  }

  LocalDirectory directory_;
  std::optional<OwnEntry> own_;
  PredecessorWatch watch_;
  std::optional<rules::SlotState> done_;  // what we were told while we waited for this slot
  std::optional<Notice> sent_away_;       // as our turn had come
  rules::RunNumber number_{};             // of our run for it
  bool is_new_ = false;                   // the lock's directory: we have made it
  std::optional<Memory> memory_;          // of the lock that we hold, if it is to be remembered
};

}  // namespace

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory) {
  return std::make_unique<LocalStore>(directory);
}

}  // namespace store::local
