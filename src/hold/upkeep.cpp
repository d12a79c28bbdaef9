#include "hold/upkeep.hpp"

#include "base/log.hpp"
#include "base/result.hpp"

namespace hold {

using store::Deadline;

Deadline HeldLocks::Charge::listen_due() const {
  // After a notice there is nothing more to be heard.
  if (lost || deaf || notice) return Deadline::never();
  return listener && !listen_again ? listener->due() : Deadline::at({});
}

void HeldLocks::add(Held held) {
  const Pace pace{held.lease().ttl, held.lease().asked_at};
  charges_.push_back({std::move(held), pace, nullptr});
}

std::vector<store::Lease> HeldLocks::leases() const {
  std::vector<store::Lease> result;
  for (const Charge& each : charges_) result.push_back(each.held.lease());
  return result;
}

Deadline HeldLocks::valid_until() const {
  Deadline earliest = Deadline::never();
  for (const Charge& each : charges_) {
    if (!each.lost) earliest = std::min(earliest, each.held.lease().valid_until);
  }
  return earliest;
}

Deadline HeldLocks::due() const {
  Deadline earliest = Deadline::never();
  for (const Charge& each : charges_) earliest = std::min(earliest, each.due());
  return earliest;
}

News HeldLocks::refresh(int interrupt) {
  return refresh(*std::min_element(charges_.begin(), charges_.end(),
                                   [](const Charge& one, const Charge& other) {
                                     return one.due() < other.due();
                                   }),
                 interrupt);
}

News HeldLocks::refresh(Charge& charge, int interrupt) const {
  const auto until = Deadline::after(base::now(), charge.pace.answer_time());
  return base::match(
      charge.held.renew({until, interrupt}),
      [&](const store::Renewed&) -> News {
        charge.pace.succeeded(charge.held.lease().asked_at);
        charge.listen_again |= std::exchange(charge.disturbed, false);
        return Extended{valid_until()};
      },
      [&](const store::NotOurs& not_ours) -> News { return lose(charge, not_ours.why); },
      [&](const store::Fault& fault) -> News {
        charge.pace.failed(base::now());
        charge.disturbed = true;
        base::log::detail("refreshing the lease: {}; trying again", fault.why);
        return Trouble{fault.why};
      });
}

News HeldLocks::lose(Charge& charge, std::string why) {
  charge.lost = true;
  charge.listener.reset();
  return Lost{charge.held.lease().name, std::move(why)};
}

Deadline HeldLocks::listen_due() const {
  Deadline earliest = Deadline::never();
  for (const Charge& each : charges_) earliest = std::min(earliest, each.listen_due());
  return earliest;
}

void HeldLocks::listen(int interrupt) {
  const auto now = base::now();
  for (Charge& each : charges_) {
    if (!each.listen_due().passed(now)) continue;
    if (!each.listener) each.listener = each.held.listener();
    each.deaf = !each.listener;
    each.listen_again = false;
    // Connecting must not make a refresh late.
    if (!each.deaf) each.listener->listen({due(), interrupt});
  }
}

std::vector<int> HeldLocks::descriptors() const {
  std::vector<int> all;
  for (const Charge& each : charges_)
    all.push_back(each.listener ? each.listener->descriptor() : -1);
  return all;
}

std::optional<News> HeldLocks::hear() {
  for (Charge& each : charges_) {
    if (!each.listener) continue;
    each.notice = each.listener->take();
    if (!each.notice) continue;
    if (each.notice->kind == store::Notice::Kind::lost) return lose(each, each.notice->why);
    each.listener.reset();
    return AskedToStop{each.held.lease().name, each.notice->why};
  }
  return std::nullopt;
}

std::vector<ReturnedLock> HeldLocks::give_back() && {
  std::vector<ReturnedLock> result;
  for (Charge& each : charges_) {
    result.push_back({std::move(each.held), each.lost, std::move(each.notice)});
  }
  charges_.clear();
  return result;
}

}  // namespace hold
