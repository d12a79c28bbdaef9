#include "hold/acquire.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "hold/waiting_line.hpp"

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

/// One acquisition in progress.
class Acquirer {
 public:
  Acquirer(std::unique_ptr<store::LockStore> store, const AcquirePlan& plan, os::Signals& signals)
      : store_{std::move(store)},
        plan_{plan},
        signals_{signals},
        line_{plan.claim.name},
        wait_ends_{Deadline::after(base::now(), plan.wait)} {}

  Acquisition run();

 private:
  store::Attempt ask();
  std::optional<Acquisition> queue(const store::Queued& place);
  std::optional<Acquisition> recover(const Fault& fault);
  std::optional<Acquisition> accept(store::Lease lease);
  /// A signal that ends us, if one came; the others are dealt with.
  std::optional<int> deadly_signal();
  Acquisition withdrawn(Acquisition outcome);
  [[nodiscard]] bool single_attempt() const { return plan_.wait == Millis{0}; }

  std::unique_ptr<store::LockStore> store_;
  const AcquirePlan& plan_;
  os::Signals& signals_;
  WaitingLine line_;
  Deadline wait_ends_;
  Millis retry_{first_retry};
  bool asked_again_ = false;  // a single attempt whose answer was lost asks once more
  bool disturbed_ = false;    // a signal that does not concern us cut a question short
};

store::Attempt Acquirer::ask() {
  const Millis answer = std::clamp(plan_.claim.ttl.length(), shortest_answer, longest_answer);
  return store_->try_acquire(plan_.claim,
                             {Deadline::after(base::now(), answer), signals_.descriptor()});
}

Acquisition Acquirer::run() {
  for (;;) {
    auto attempt = ask();
    if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
    auto outcome = base::match(
        std::move(attempt),
        [&](store::Granted&& granted) { return accept(std::move(granted.lease)); },
        [&](store::Busy&& busy) -> std::optional<Acquisition> {
          return GaveUp{std::move(busy.occupant), busy.waiting};
        },
        [&](store::Queued&& place) { return queue(place); },
        [&](Fault&& fault) { return recover(fault); });
    if (outcome) return *std::move(outcome);
  }
}

std::optional<Acquisition> Acquirer::accept(store::Lease lease) {
  if (!lease.valid_until.earlier_by(plan_.grace).passed(base::now())) {
    return Held{std::move(store_), std::move(lease)};
  }
  // Granted, but the answer took so long that the job would have to be stopped at once.
  store_->withdraw(plan_.claim, {Deadline::after(base::now(), goodbye)});
  return recover(
      {Fault::Kind::silent, fmt::format("the grant of a lease of {} came too late to be used",
                                        base::format_duration(plan_.claim.ttl.length()))});
}

std::optional<Acquisition> Acquirer::queue(const store::Queued& place) {
  retry_ = first_retry;
  line_.update(place, base::now());
  for (;;) {
    const os::Patience patience{std::min(wait_ends_, line_.due()), signals_.descriptor()};
    const auto turn = store_->await_turn(plan_.claim, patience);
    if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
    if (wait_ends_.passed(base::now())) return withdrawn(GaveUp{place.occupant, place.ahead});
    if (turn == store::Turn::claim_again) return std::nullopt;
    if (line_.due().passed(base::now())) line_.tick(base::now());
  }
}

std::optional<Acquisition> Acquirer::recover(const Fault& fault) {
  const bool hopeless = fault.kind == Fault::Kind::denied || fault.kind == Fault::Kind::unusable;
  if (hopeless) return withdrawn(fault);
  if (std::exchange(disturbed_, false)) return std::nullopt;
  if (single_attempt()) {
    // Only a lost answer is worth a second question, which the same token makes safe.
    if (fault.kind != Fault::Kind::silent || asked_again_) return withdrawn(fault);
    asked_again_ = true;
    return std::nullopt;
  }
  line_.update(fault, base::now());
  const Deadline next = std::min(wait_ends_, Deadline::after(base::now(), retry_));
  retry_ = std::min(retry_ * 2, longest_retry);
  os::wait_any({signals_.descriptor()}, next);
  if (const auto signal = deadly_signal()) return withdrawn(Interrupted{*signal});
  if (wait_ends_.passed(base::now())) return withdrawn(fault);
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

Acquisition Acquirer::withdrawn(Acquisition outcome) {
  store_->withdraw(plan_.claim, {Deadline::after(base::now(), goodbye)});
  return outcome;
}

}  // namespace

Acquisition acquire(std::unique_ptr<store::LockStore> store, const AcquirePlan& plan,
                    os::Signals& signals) {
  return Acquirer{std::move(store), plan, signals}.run();
}

}  // namespace hold
