#include "hold/claimant.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace hold {
namespace {

using base::Deadline;
using base::Millis;
using store::Fault;

// A server that takes longer for one answer is as good as silent; a lease shorter than that would
// be over when the answer came, so it need not wait longer than a second either.
constexpr Millis longest_answer{5'000};
constexpr Millis shortest_answer{1'000};
// On the way out nobody should wait long for a server.
constexpr Millis goodbye{1'000};
constexpr Millis first_retry{50};
constexpr Millis longest_retry{1'000};

}  // namespace

Acquirer::Acquirer(std::unique_ptr<store::LockStore> store, const store::Claim& claim,
                   const Terms& terms, HeldLocks& earlier, os::Signals& signals)
    : store_{std::move(store)},
      claim_{claim},
      terms_{terms},
      earlier_{earlier},
      signals_{signals},
      line_{claim.name},
      retry_{first_retry} {}

store::Attempt Acquirer::ask() {
  const Millis answer = std::clamp(claim_.ttl.length(), shortest_answer, longest_answer);
  return store_->try_acquire(claim_, {Deadline::after(base::now(), answer), signals_.descriptor()});
}

Acquirer::Outcome Acquirer::run() {
  for (;;) {
    auto attempt = ask();
    if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
    auto outcome = base::match(
        std::move(attempt), [&](store::Granted&& granted) { return accept(std::move(granted)); },
        [&](store::Busy&& busy) -> std::optional<Outcome> {
          const bool queueing = claim_.on_busy == store::OnBusy::queue;
          // Nobody in particular has it: some of it may be ours.
          if (!busy.occupant) store_->withdraw(claim_, {Deadline::after(base::now(), goodbye)});
          return GaveUp{claim_.name, std::move(busy.occupant), busy.waiting,
                        queueing ? GaveUp::Why::crowded : GaveUp::Why::busy};
        },
        [&](store::ModeConflict&& mismatch) -> std::optional<Outcome> {
          return withdrawn(Disagreement{claim_.name, std::move(mismatch)});
        },
        [&](store::Queued&& place) { return queue(place); },
        [&](store::TokenExhausted&& spent) -> std::optional<Outcome> {
          return withdrawn(LostEarlier{std::move(spent.why)});
        },
        [&](Fault&& fault) { return recover(fault); });
    if (outcome) return *std::move(outcome);
    if (auto lost = look_after_earlier()) return *std::move(lost);
  }
}

std::optional<Acquirer::Outcome> Acquirer::look_after_earlier() {
  while (earlier_.due().passed(base::now())) {
    auto news = earlier_.refresh(signals_.descriptor());
    if (auto* lost = std::get_if<Lost>(&news)) return withdrawn(LostEarlier{std::move(lost->why)});
    if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
    if (earlier_.valid_until().passed(base::now())) {
      return withdrawn(LostEarlier{"its lease could not be refreshed in time"});
    }
  }
  if (earlier_.listen_due().passed(base::now())) earlier_.listen(signals_.descriptor());
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
  // The answer took so long that the job would have to be stopped at once.
  return recover(
      {Fault::Kind::silent, fmt::format("the grant of a lease of {} came too late to be used",
                                        base::format_duration(claim_.ttl.length()))});
}

std::optional<Acquirer::Outcome> Acquirer::queue(const store::Queued& place) {
  retry_ = first_retry;
  line_.update(place, base::now());
  for (;;) {
    const Deadline until = std::min({terms_.wait_ends, line_.due(), earlier_.due()});
    const auto turn = store_->await_turn(claim_, {until, signals_.descriptor()});
    if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
    if (const auto* notice = std::get_if<store::Notice>(&turn)) return obey(*notice);
    if (const auto* fault = std::get_if<Fault>(&turn)) return recover(*fault);
    if (terms_.wait_ends.passed(base::now())) {
      return withdrawn(GaveUp{claim_.name, place.occupant, place.ahead, GaveUp::Why::timed_out});
    }
    if (std::holds_alternative<store::ClaimAgain>(turn)) return std::nullopt;
    if (auto outcome = look_after_earlier()) return outcome;
    if (line_.due().passed(base::now())) line_.tick(base::now());
  }
}

std::optional<Acquirer::Outcome> Acquirer::obey(const store::Notice& notice) {
  const os::CallLimit limit{Deadline::after(base::now(), goodbye)};
  const bool stop = notice.kind == store::Notice::Kind::stop;
  if (stop) store_->withdraw(claim_, limit);
  store_->confirm_stopped(claim_.name, notice, limit);
  if (stop) return Dismissed{claim_.name, notice.why};
  // Only what was reserved for us was taken away: our place may be gone with it, our wish is not.
  return std::nullopt;
}

std::optional<Acquirer::Outcome> Acquirer::recover(const Fault& fault) {
  const bool hopeless = fault.kind == Fault::Kind::denied || fault.kind == Fault::Kind::unusable;
  if (hopeless) return withdrawn(fault);
  if (std::exchange(disturbed_, false)) return std::nullopt;
  if (claim_.on_busy == store::OnBusy::give_up) {
    // Only a lost answer is worth a second question, which the same token makes safe.
    if (fault.kind != Fault::Kind::silent || asked_again_) return withdrawn(fault);
    asked_again_ = true;
    return std::nullopt;
  }
  line_.update(fault, base::now());
  const Deadline next =
      std::min({terms_.wait_ends, Deadline::after(base::now(), retry_), earlier_.due()});
  retry_ = std::min(retry_ * 2, longest_retry);
  os::wait_any({signals_.descriptor()}, next);
  if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
  if (terms_.wait_ends.passed(base::now())) return withdrawn(fault);
  return std::nullopt;
}

std::optional<int> Acquirer::deadly_signal() {
  disturbed_ = false;
  while (const auto signal = signals_.take()) {
    disturbed_ = true;
    switch (signal->number) {
      case SIGCHLD:
      case SIGCONT:
      case SIGWINCH: break;
      case SIGTSTP:
      case SIGTTIN:
      case SIGTTOU:
        base::log::clear_status();
        os::Signals::suspend(signal->number);
        break;
      default: return signal->number;
    }
  }
  return std::nullopt;
}

Acquirer::Outcome Acquirer::withdrawn(Outcome outcome) {
  store_->withdraw(claim_, {Deadline::after(base::now(), goodbye)});
  return outcome;
}

}  // namespace hold
