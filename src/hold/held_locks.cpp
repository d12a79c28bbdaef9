#include "hold/held_locks.hpp"

#include <system_error>

#include "base/log.hpp"
#include "base/result.hpp"
#include "os/poll.hpp"

namespace hold {

using store::Deadline;

namespace {

// A server that restarts or fails over needs a moment; a tight loop would not help it.
constexpr base::Millis between_tries{50};
// If no descriptor is left for a listener. No hurry: a refresh finds out the same.
constexpr base::Millis before_listening_again{1'000};

}  // namespace

Held::~Held() {
  if (!store_) return;
  try {
    (void)release({base::Deadline::after(base::now(), longest_last_word)});
  } catch (const std::system_error&) {
    // No descriptor or thread is left, which is why we are here: the lease ends by itself.
  }
}

store::Renewal Held::renew(const os::CallLimit& limit) {
  auto renewal = [&]() -> store::Renewal {
    try {
      return store_->renew(lease_.name, lease_.token, lease_.ttl, limit);
    } catch (const std::system_error& error) {
      return store::Fault{store::Fault::Kind::unavailable, error.what()};
    }
  }();
  if (const auto* renewed = std::get_if<store::Renewed>(&renewal)) {
    lease_.valid_until = renewed->valid_until;
    lease_.asked_at = renewed->asked_at;
  }
  return renewal;
}

store::Release Held::release(const os::CallLimit& limit, const store::Parting& parting) {
  give_up();
  store::Parting numbered = parting;
  numbered.fence = lease_.fence;
  for (bool unheard = false;;) {
    // The connection may be dead without a sign: the first try leaves half for a new one.
    const auto now = base::now();
    const auto share =
        unheard ? limit : limit.at_most(Deadline::after(now, limit.until.left(now) / 2));
    auto release = spent_->release(lease_.name, lease_.token, numbered, share);
    if (std::holds_alternative<store::NotOurs>(release) && unheard) return store::Released{};
    const auto* fault = std::get_if<store::Fault>(&release);
    if (fault == nullptr || limit.until.passed(base::now())) return release;
    if (fault->kind == store::Fault::Kind::denied) return release;
    unheard = unheard || fault->kind == store::Fault::Kind::silent;
    os::wait_any({limit.interrupt},
                 std::min(limit.until, base::Deadline::after(base::now(), between_tries)));
  }
}

Deadline HeldLocks::Lock::listen_due() const {
  // After a notice no other can follow.
  if (lost || deaf || notice) return Deadline::never();
  return listener && !listen_again ? listener->due() : listen_from;
}

void HeldLocks::add(Held held) {
  locks_.emplace_back(std::move(held));
}

std::vector<store::Lease> HeldLocks::leases() const {
  std::vector<store::Lease> result;
  for (const Lock& each : locks_) result.push_back(each.held.lease());
  return result;
}

Deadline HeldLocks::valid_until() const {
  Deadline earliest = Deadline::never();
  for (const Lock& each : locks_) {
    if (!each.lost) earliest = std::min(earliest, each.held.lease().valid_until);
  }
  return earliest;
}

Deadline HeldLocks::due() const {
  Deadline earliest = Deadline::never();
  for (const Lock& each : locks_) earliest = std::min(earliest, each.due());
  return earliest;
}

News HeldLocks::refresh(int interrupt, Deadline at_most) {
  Lock& first =
      *std::min_element(locks_.begin(), locks_.end(),
                        [](const Lock& one, const Lock& other) { return one.due() < other.due(); });
  const auto until = Deadline::after(base::now(), first.pace.answer_time());
  return refresh(first, {std::min(until, at_most), interrupt});
}

News HeldLocks::refresh(Lock& lock, const os::CallLimit& limit) const {
  return base::match(
      lock.held.renew(limit),
      [&](const store::Renewed&) -> News {
        lock.pace.succeeded(lock.held.lease().asked_at);
        lock.listen_again |= std::exchange(lock.disturbed, false);
        return Extended{valid_until()};
      },
      [&](const store::NotOurs& not_ours) -> News { return lose(lock, not_ours.why); },
      [&](const store::Fault& fault) -> News {
        lock.pace.failed(base::now());
        lock.disturbed = true;
        base::log::Event{"refresh-failed"}
            .with("key", lock.held.lease().name.text())
            .detail("refreshing the lease: {}; trying again", fault.why);
        return Trouble{fault.why};
      });
}

News HeldLocks::lose(Lock& lock, std::string why) {
  lock.lost = true;
  lock.listener.reset();
  return Lost{lock.held.lease().name, std::move(why)};
}

Deadline HeldLocks::listen_due() const {
  Deadline earliest = Deadline::never();
  for (const Lock& each : locks_) earliest = std::min(earliest, each.listen_due());
  return earliest;
}

void HeldLocks::listen(int interrupt, Deadline at_most) {
  const auto now = base::now();
  for (Lock& each : locks_) {
    if (!each.listen_due().passed(now)) continue;
    try {
      if (!each.listener) each.listener = each.held.listener();
      each.deaf = !each.listener;
      each.listen_again = false;
      // Connecting must not delay a refresh.
      if (!each.deaf) each.listener->listen({std::min(due(), at_most), interrupt});
    } catch (const std::system_error& error) {
      each.listen_again = true;
      each.listen_from = Deadline::after(now, before_listening_again);
      base::log::detail("listening for notices: {}; trying again", error.what());
    }
  }
}

std::vector<int> HeldLocks::descriptors() const {
  std::vector<int> all;
  for (const Lock& each : locks_) all.push_back(each.listener ? each.listener->descriptor() : -1);
  return all;
}

std::optional<News> HeldLocks::hear() {
  for (Lock& each : locks_) {
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
  for (Lock& each : locks_) {
    result.push_back({std::move(each.held), each.lost, std::move(each.notice)});
  }
  locks_.clear();
  return result;
}

void HeldLocks::abandon() && {
  const os::CallLimit limit{Deadline::after(base::now(), Held::longest_last_word)};
  auto all = std::move(*this).give_back();
  std::size_t left = all.size();
  for (ReturnedLock& each : all) {
    const auto share = share_of(limit, left--);
    try {
      if (each.lost) {
        each.held.give_up();
      } else {
        (void)each.held.release(share);
      }
      if (each.notice) each.held.confirm_stopped(*each.notice, limit);
    } catch (const std::system_error&) {
      // No descriptor is left: the lease ends by itself.
    }
  }
}

}  // namespace hold
