#include "hold/acquire.hpp"

#include "base/log.hpp"

namespace hold {
namespace {

using base::Deadline;
using Opener = std::function<std::unique_ptr<store::LockStore>()>;
using Round = std::variant<HeldLocks, LostEarlier, NotAcquired>;

/// With the last lock in hand: the first ones may have been refreshed a while ago.
std::optional<LostEarlier> freshen(HeldLocks& all, const Acquirer::Terms& terms,
                                   const os::Signals& signals) {
  while (all.due().passed(base::now())) {
    const auto news = all.refresh(signals.descriptor());
    if (const auto* lost = std::get_if<Lost>(&news)) return LostEarlier{lost->why};
    if (std::holds_alternative<Trouble>(news)) break;  // what is left of the lease may be enough
  }
  if (!all.valid_until().earlier_by(terms.grace).passed(base::now())) return std::nullopt;
  return LostEarlier{"its lease could not be refreshed in time"};
}

Round take_all(const Opener& open_store, const std::vector<store::Claim>& claims,
               const Acquirer::Terms& terms, os::Signals& signals) {
  HeldLocks all;
  for (const store::Claim& claim : claims) {
    auto outcome = Acquirer{open_store(), claim, terms, all, signals}.run();
    if (auto* not_had = std::get_if<NotAcquired>(&outcome)) return std::move(*not_had);
    if (auto* lost = std::get_if<LostEarlier>(&outcome)) return std::move(*lost);
    all.add(std::get<Held>(std::move(outcome)));
  }
  if (claims.size() > 1) {
    if (auto lost = freshen(all, terms, signals)) return *std::move(lost);
  }
  return all;
}

}  // namespace

Acquisition acquire(const Opener& open_store, const AcquirePlan& plan, os::Signals& signals) {
  const Acquirer::Terms terms{Deadline::after(base::now(), plan.wait), plan.grace};
  auto claims = plan.claims;
  for (;;) {
    auto round = take_all(open_store, claims, terms, signals);
    if (auto* all = std::get_if<HeldLocks>(&round)) return std::move(*all);
    if (auto* not_had = std::get_if<NotAcquired>(&round)) return std::move(*not_had);
    const auto& lost = std::get<LostEarlier>(round);
    if (terms.wait_ends.passed(base::now())) {
      return store::Fault{store::Fault::Kind::silent,
                          "a lock was lost while another was asked for: " + lost.why};
    }
    // What a server hears late of this round is not to be about the next.
    const store::Token fresh = claims.front().token.another();
    for (store::Claim& claim : claims) claim.token = fresh;
    base::log::detail("a lock was lost while another was waited for ({}); once more", lost.why);
  }
}

}  // namespace hold
