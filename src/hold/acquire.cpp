#include "hold/acquire.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "hold/wait_pace.hpp"

namespace hold {
namespace {

using base::Deadline;
using base::Millis;
using store::Fault;

// With a shorter limit a lease, or a wait, would be over before the answer arrives; but a TLS
// connection to another continent takes a part of a second.
constexpr Millis shortest_answer{1'000};
// On the way out, do not wait long for a server.
constexpr Millis goodbye{1'000};
// A waiter whose turn has not come by then gives memory back. Restoring it later costs the waiter a
// tenth of a millisecond.
constexpr Millis soon{5'000};

// An administrator who replaces a password changes the server and the hosts' files within seconds.
constexpr Millis for_a_new_password{5'000};

/// An earlier lock is lost, or cannot be acquired with the token that they share.
struct LostEarlier {
  std::string why;
};

/// Acquires one lock, and meanwhile refreshes those that the same run already holds. Main thread;
/// no other thread exists yet.
class Acquirer {
 public:
  struct Terms {
    base::Deadline wait_ends;
    base::Millis grace;  // this much of the validity must be left, or the job could not be stopped
                         // in time
    base::Millis longest_answer;
    const std::vector<store::Token>& outer;
    bool sheds_memory;
  };
  using Outcome = std::variant<Held, LostEarlier, NotAcquired>;

  Acquirer(std::unique_ptr<store::LockStore> store, const store::Claim& claim, const Terms& terms,
           HeldLocks& earlier, Interruption& interruption);

  /// Call once. Moves the store into Held on success. Otherwise nothing of this claim is left on a
  /// server that answers: a silent fault may have been a grant, so it is withdrawn.
  Outcome run();
  /// Whether a log has a line about the wait.
  [[nodiscard]] bool is_wait_in_log() const { return line_.is_in_log(); }

 private:
  store::Attempt ask();
  [[nodiscard]] base::Deadline answer_due(base::Moment now) const;
  std::optional<Outcome> queue(const store::Queued& queued);
  std::optional<Outcome> recover(const store::Fault& fault);
  std::optional<Outcome> accept(store::Granted granted);
  std::optional<Outcome> obey(const store::Notice& notice);
  /// After a wait without result.
  std::optional<Outcome> rest_after(const store::Turn& turn, base::Moment began);
  /// Pauses, unless something happens.
  std::optional<Outcome> rest(Millis pause);
  /// Refreshes the locks that are due and reads their notices; nothing if all is well.
  std::optional<Outcome> look_after_earlier();
  /// Whether an enclosing run holds it exclusively. The name alone does not always show that: one
  /// server may have two names.
  bool is_outer(const std::optional<store::Holder>& holder) const;
  bool is_final_refusal(const Fault& fault);
  /// Descriptors that become readable on an interruption, or on a notice about an earlier lock.
  std::vector<int> wakers() const;
  /// Takes what came, and returns what ends the wait.
  std::optional<int> interruption();
  Outcome withdrawn(Outcome outcome);

  std::unique_ptr<store::LockStore> store_;
  store::Claim claim_;
  const Terms& terms_;
  HeldLocks& earlier_;
  Interruption& interruption_;
  base::Moment began_;
  WaitingLine line_;
  WaitPace pace_;
  base::Deadline attempt_ends_;
  bool was_queued_ = false;                 // so the server has accepted us before
  std::optional<Deadline> let_in_until_{};  // of a refusal, which may be revoked until then
  bool asked_again_ = false;                // after a lost answer a single attempt repeats its
                                            // request
  bool disturbed_ = false;  // a request was cut short, by what does not end the wait
};

Acquirer::Acquirer(std::unique_ptr<store::LockStore> store, const store::Claim& claim,
                   const Terms& terms, HeldLocks& earlier, Interruption& interruption)
    : store_{std::move(store)},
      claim_{claim},
      terms_{terms},
      earlier_{earlier},
      interruption_{interruption},
      began_{base::now()},
      line_{claim.name, claim.mode, began_},
      attempt_ends_{Deadline::after(began_, terms.longest_answer)} {}

/// The end of the wait also ends a request. The two requests of a single attempt share the time of
/// one.
base::Deadline Acquirer::answer_due(base::Moment now) const {
  const Millis lease = std::max(claim_.ttl.length(), shortest_answer);
  const Deadline longest = Deadline::after(now, std::min(lease, terms_.longest_answer));
  if (claim_.on_busy == store::OnBusy::give_up) return std::min(longest, attempt_ends_);
  const Deadline soonest = Deadline::after(now, std::min(shortest_answer, terms_.longest_answer));
  return std::min(longest, std::max(terms_.wait_ends, soonest));
}

store::Attempt Acquirer::ask() {
  const auto asked_at = base::now();
  const Deadline due = answer_due(asked_at);
  claim_.waited = std::chrono::duration_cast<Millis>(asked_at - began_);
  auto attempt = store_->try_acquire(claim_, {due, interruption_.descriptor()});
  if (auto* fault = std::get_if<Fault>(&attempt)) store::say_limit(*fault, asked_at, due);
  return attempt;
}

Acquirer::Outcome Acquirer::run() {
  for (;;) {
    auto attempt = ask();
    if (const auto signal = interruption()) return withdrawn(Interrupted{*signal});
    auto outcome = base::match(
        std::move(attempt), [&](store::Granted&& granted) { return accept(std::move(granted)); },
        [&](store::Busy&& busy) -> std::optional<Outcome> {
          if (is_outer(busy.holder)) {
            return GaveUp{claim_.name, std::move(busy.holder), busy.waiting, GaveUp::Why::nested};
          }
          const bool queueing = claim_.on_busy == store::OnBusy::queue;
          // No single holder: we may hold a part of it.
          if (!busy.holder) store_->withdraw(claim_, {Deadline::after(base::now(), goodbye)});
          return GaveUp{claim_.name, std::move(busy.holder), busy.waiting,
                        queueing ? GaveUp::Why::crowded : GaveUp::Why::busy};
        },
        [&](store::ModeConflict&& conflict) -> std::optional<Outcome> {
          return withdrawn(Incompatible{claim_.name, std::move(conflict)});
        },
        [&](store::SlotDone&& done) -> std::optional<Outcome> {
          return AlreadyDone{claim_.name, std::move(done)};
        },
        [&](store::Queued&& queued) { return queue(queued); },
        [&](store::TokenExhausted&& spent) -> std::optional<Outcome> {
          return withdrawn(LostEarlier{std::move(spent.why)});
        },
        [&](Fault&& fault) { return recover(fault); });
    if (outcome) return *std::move(outcome);
    if (auto lost = look_after_earlier()) return *std::move(lost);
  }
}

bool Acquirer::is_outer(const std::optional<store::Holder>& holder) const {
  if (!holder || holder->others > 0) return false;  // another permit may become free
  return std::any_of(terms_.outer.begin(), terms_.outer.end(),
                     [&](const store::Token& each) { return each.text() == holder->token; });
}

std::optional<Acquirer::Outcome> Acquirer::look_after_earlier() {
  // Each at most once: if a server is slow, the first is due again when the last is done.
  for (auto left = earlier_.size(); left > 0 && earlier_.due().passed(base::now()); --left) {
    auto news = earlier_.refresh(interruption_.descriptor());
    if (auto* lost = std::get_if<Lost>(&news)) return withdrawn(LostEarlier{std::move(lost->why)});
    if (const auto signal = interruption()) return withdrawn(Interrupted{*signal});
    if (earlier_.valid_until().passed(base::now())) {
      return withdrawn(LostEarlier{"its lease could not be refreshed in time"});
    }
  }
  if (earlier_.listen_due().passed(base::now())) earlier_.listen(interruption_.descriptor());
  auto heard = earlier_.hear();
  if (!heard) return std::nullopt;
  if (auto* asked = std::get_if<AskedToStop>(&*heard)) {
    return withdrawn(Dismissed{std::move(asked->name), std::move(asked->why)});
  }
  return withdrawn(LostEarlier{std::get<Lost>(*std::move(heard)).why});
}

std::optional<Acquirer::Outcome> Acquirer::accept(store::Granted granted) {
  store::Lease& lease = granted.lease;
  if (granted.flaw.empty() && !lease.valid_until.earlier_by(terms_.grace).passed(base::now())) {
    return Held{std::move(store_), std::move(lease)};
  }
  if (granted.flaw.empty() && lease.ttl.length() - lease.ttl.drift() <= terms_.grace) {
    return recover({Fault::Kind::unusable,
                    fmt::format("it gives leases of at most {}: shorten --ttl or --grace ({})",
                                base::format_duration(lease.ttl.length()),
                                base::format_duration(terms_.grace))});
  }
  store_->withdraw(claim_, {Deadline::after(base::now(), goodbye)});
  if (claim_.token_stays) {
    return LostEarlier{granted.flaw.empty() ? "a grant came too late" : std::move(granted.flaw)};
  }
  claim_.token = claim_.token.another();
  if (!granted.flaw.empty()) return recover({Fault::Kind::unavailable, std::move(granted.flaw)});
  // The answer took too long: the job would have to be stopped at once.
  return recover(
      {Fault::Kind::silent, fmt::format("the grant of a lease of {} came too late to be used",
                                        base::format_duration(claim_.ttl.length()))});
}

std::optional<Acquirer::Outcome> Acquirer::queue(const store::Queued& queued) {
  if (is_outer(queued.holder)) {
    return withdrawn(GaveUp{claim_.name, queued.holder, queued.ahead, GaveUp::Why::nested});
  }
  const auto told_at = base::now();
  was_queued_ = true;
  let_in_until_.reset();
  line_.update(queued, told_at);
  for (;;) {
    // Start listening for the earlier locks before the first wait.
    if (auto outcome = look_after_earlier()) return outcome;
    const auto began = base::now();
    // The first line of a log waits for the store's next look, if we must not look ourselves.
    const bool line_waits = line_.wants_news(began) && !store_->may_ask_while_waiting();
    const Deadline line_due = line_waits ? Deadline::never() : line_.due();
    const Deadline until =
        std::min({terms_.wait_ends, line_due, earlier_.due(), earlier_.listen_due()});
    const auto turn = [&] {
      os::CallLimit limit{until, interruption_.descriptor()};
      if (terms_.sheds_memory) limit.long_from = Deadline::after(began_, soon);
      limit.news_by = line_.first_line_due();
      if (earlier_.empty()) return store_->await_turn(claim_, limit);
      const os::PollSet interrupt{wakers()};
      limit.interrupt = interrupt.descriptor();
      return store_->await_turn(claim_, limit);
    }();
    if (const auto signal = interruption()) return withdrawn(Interrupted{*signal});
    if (const auto* notice = std::get_if<store::Notice>(&turn)) {
      auto outcome = obey(*notice);
      return outcome ? std::move(outcome) : rest_after(turn, began);
    }
    if (const auto* fault = std::get_if<Fault>(&turn)) return recover(*fault);
    if (terms_.wait_ends.passed(base::now())) {
      auto holder = queued.holder;
      if (holder && holder->held_for) {
        *holder->held_for += std::chrono::duration_cast<base::Millis>(base::now() - told_at);
      }
      return withdrawn(
          GaveUp{claim_.name, std::move(holder), queued.ahead, GaveUp::Why::timed_out});
    }
    // If we chose the end of the wait, it means nothing.
    const bool ours = disturbed_ || until.passed(base::now());
    const bool again = std::holds_alternative<store::ClaimAgain>(turn);
    if (again || !ours) {
      if (auto outcome = rest_after(turn, began)) return outcome;
    }
    if (again) return std::nullopt;
    if (!line_.due().passed(base::now())) continue;
    if (!line_.wants_news(base::now())) {
      line_.tick(base::now());
    } else if (store_->may_ask_while_waiting()) {
      return std::nullopt;
    }
  }
}

std::optional<Acquirer::Outcome> Acquirer::obey(const store::Notice& notice) {
  const os::CallLimit limit{Deadline::after(base::now(), goodbye)};
  const bool stop = notice.kind == store::Notice::Kind::stop;
  if (stop) store_->withdraw(claim_, limit);
  store_->confirm_stopped(claim_.name, notice, limit);
  if (stop) return Dismissed{claim_.name, notice.why};
  // We lost only a reservation. Our position may be lost with it, but we still want the lock.
  return std::nullopt;
}

std::optional<Acquirer::Outcome> Acquirer::rest_after(const store::Turn& turn, base::Moment began) {
  const auto now = base::now();
  const auto* again = std::get_if<store::ClaimAgain>(&turn);
  const bool cut = again != nullptr && !again->cut.empty();
  const Millis pause = pace_.after_wait(began, now, cut);
  if (cut) {
    base::log::Event{"wait-cut"}
        .with("key", claim_.name.text())
        .trace("the wait was cut short: {}; asking again in {}", again->cut,
               base::format_duration(pause));
  }
  if (cut && pace_.is_to_be_said(now)) {
    base::log::Event{"wait-cut"}
        .with("key", claim_.name.text())
        .notice(
            "waiting for '{}': each wait ends at once ({}); "
            "asking once a second",
            base::printable(claim_.name.text()), again->cut);
  }
  return rest(pause);
}

std::optional<Acquirer::Outcome> Acquirer::rest(Millis pause) {
  if (pause <= Millis{0}) return std::nullopt;
  const Deadline next =
      std::min({terms_.wait_ends, Deadline::after(base::now(), pause), earlier_.due()});
  os::wait_any(wakers(), next);
  if (const auto signal = interruption()) return withdrawn(Interrupted{*signal});
  return std::nullopt;
}

/// A server may have a new password a moment before the password file. A holder that is refused at
/// a refresh also keeps trying, until its lease ends.
bool Acquirer::is_final_refusal(const Fault& fault) {
  if (fault.kind != Fault::Kind::denied) return false;
  const auto now = base::now();
  if (!let_in_until_) let_in_until_ = Deadline::after(now, for_a_new_password);
  return !was_queued_ || let_in_until_->passed(now);
}

std::optional<Acquirer::Outcome> Acquirer::recover(const Fault& fault) {
  const bool hopeless = is_final_refusal(fault) || fault.kind == Fault::Kind::unusable ||
                        fault.kind == Fault::Kind::misconfigured;
  if (hopeless) return withdrawn(fault);
  if (std::exchange(disturbed_, false)) return std::nullopt;
  if (claim_.on_busy == store::OnBusy::give_up) {
    // Repeat only a request whose answer was lost; the same token makes that safe.
    const bool in_time = !attempt_ends_.passed(base::now());
    if (fault.kind != Fault::Kind::silent || asked_again_ || !in_time) return withdrawn(fault);
    asked_again_ = true;
    return std::nullopt;
  }
  line_.update(fault, base::now());
  const Millis pause = pace_.after_fault();
  base::log::Event{"retry"}
      .with("key", claim_.name.text())
      .trace("asking again in {}: {}", base::format_duration(pause), fault.why);
  if (auto outcome = rest(pause)) return outcome;
  if (terms_.wait_ends.passed(base::now())) return withdrawn(fault);
  return std::nullopt;
}

std::vector<int> Acquirer::wakers() const {
  auto all = earlier_.descriptors();
  all.push_back(interruption_.descriptor());
  return all;
}

std::optional<int> Acquirer::interruption() {
  const auto taken = interruption_.take();
  disturbed_ = taken.any;
  return taken.ends;
}

Acquirer::Outcome Acquirer::withdrawn(Outcome outcome) {
  store_->withdraw(claim_, {Deadline::after(base::now(), goodbye)});
  return outcome;
}

using Opener = std::function<std::unique_ptr<store::LockStore>()>;
using Attempted = std::variant<HeldLocks, LostEarlier, NotAcquired>;

/// With the last lock acquired: the first ones may not have been refreshed for a while.
std::optional<std::variant<LostEarlier, Dismissed>> freshen(HeldLocks& all,
                                                            const Acquirer::Terms& terms,
                                                            const Interruption& interruption) {
  for (auto left = all.size(); left > 0 && all.due().passed(base::now()); --left) {
    const auto news = all.refresh(interruption.descriptor());
    if (const auto* lost = std::get_if<Lost>(&news)) return LostEarlier{lost->why};
    if (std::holds_alternative<Trouble>(news)) break;  // the rest of the lease may be enough
  }
  if (auto heard = all.hear()) {
    if (auto* asked = std::get_if<AskedToStop>(&*heard)) {
      return Dismissed{std::move(asked->name), std::move(asked->why)};
    }
    return LostEarlier{std::get<Lost>(*std::move(heard)).why};
  }
  if (!all.valid_until().earlier_by(terms.grace).passed(base::now())) return std::nullopt;
  return LostEarlier{"its lease could not be refreshed in time"};
}

/// Sets `wait_in_log` once a log has a line about the wait for one of the locks.
Attempted take_all(const Opener& open_store, const std::vector<store::Claim>& claims,
                   const Acquirer::Terms& terms, Interruption& interruption, bool& wait_in_log) {
  HeldLocks all;
  for (const store::Claim& claim : claims) {
    Acquirer acquirer{open_store(), claim, terms, all, interruption};
    auto outcome = acquirer.run();
    wait_in_log = wait_in_log || acquirer.is_wait_in_log();
    if (auto* held = std::get_if<Held>(&outcome)) {
      all.add(std::move(*held));
      continue;
    }
    std::move(all).abandon();
    if (auto* lost = std::get_if<LostEarlier>(&outcome)) return std::move(*lost);
    return std::get<NotAcquired>(std::move(outcome));
  }
  if (claims.size() == 1) return all;
  auto trouble = freshen(all, terms, interruption);
  if (!trouble) return all;
  std::move(all).abandon();
  if (auto* lost = std::get_if<LostEarlier>(&*trouble)) return std::move(*lost);
  return NotAcquired{std::get<Dismissed>(*std::move(trouble))};
}

}  // namespace

Acquisition acquire(const Opener& open_store, const Wanted& wanted, Interruption& interruption) {
  const Acquirer::Terms terms{Deadline::after(base::now(), wanted.wait), wanted.grace,
                              wanted.longest_answer, wanted.outer, wanted.sheds_memory};
  auto claims = wanted.claims;
  WaitPace pace;
  bool wait_in_log = false;
  for (;;) {
    const auto began = base::now();
    auto taken = take_all(open_store, claims, terms, interruption, wait_in_log);
    if (auto* all = std::get_if<HeldLocks>(&taken)) {
      all->note_wait(wait_in_log);
      return std::move(*all);
    }
    if (auto* not_acquired = std::get_if<NotAcquired>(&taken)) return std::move(*not_acquired);
    const auto& lost = std::get<LostEarlier>(taken);
    if (terms.wait_ends.passed(base::now())) {
      return store::Fault{store::Fault::Kind::silent,
                          "a lock was lost while another was asked for: " + lost.why};
    }
    // A late request of this round must not affect the next.
    const store::Token fresh = claims.front().token.another();
    for (store::Claim& claim : claims) claim.token = fresh;
    base::log::detail("a lock was lost while another was waited for ({}); once more", lost.why);
    const Millis pause = pace.after_wait(began, base::now(), true);
    os::wait_any({interruption.descriptor()},
                 std::min(terms.wait_ends, Deadline::after(base::now(), pause)));
  }
}
}  // namespace hold
