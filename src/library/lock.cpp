#include "library/lock.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/per_process.hpp"
#include "os/sigpipe.hpp"

namespace rlock {
inline namespace v0 {

using store::Deadline;

namespace {

/// Releases one, and returns whether it was still ours.
Released give_back(hold::ReturnedLock& lock, const store::Parting& parting,
                   const os::CallLimit& limit) {
  if (lock.lost) {
    lock.held.give_up();
    return Released::lost_before;
  }
  const auto release = lock.held.release(limit, parting);
  if (std::holds_alternative<store::Released>(release)) return Released::yes;
  if (std::holds_alternative<store::NotOurs>(release)) return Released::lost_before;
  const auto& fault = std::get<store::Fault>(release);
  base::log::Event{"release-failed"}.notice(
      "could not release the lock '{}' ({}); it ends with its lease",
      base::printable(lock.held.lease().name.text()), fault.why);
  return Released::unheard;
}

Released worse_of(Released one, Released other) {
  if (one == Released::lost_before || other == Released::lost_before) return Released::lost_before;
  return one == Released::yes ? other : one;
}

/// How the run ended if the keeper told of a loss.
store::RunEnd end_after(const Loss& loss) {
  using Kind = store::RunOutcome::Kind;
  if (loss.kind == Loss::Kind::cancelled) return {{Kind::cancelled}, loss.text};
  return {{Kind::lost}, loss.text};
}

}  // namespace

Lock::Impl::Impl(std::shared_ptr<Server::Impl> of, std::vector<store::Lease> granted,
                 std::shared_ptr<library::Kept> keeps, store::Parting how)
    : server{std::move(of)},
      in_process{os::process_number()},
      leases{std::move(granted)},
      kept{std::move(keeps)},
      parting{std::move(how)} {}

bool Lock::Impl::is_in_child() const {
  return in_process != os::process_number();
}

Released Lock::Impl::release(const store::RunEnd& end, store::Parting::SlotEnd of_slot) {
  if (released) return *released;
  if (is_in_child()) return *(released = Released::lost_before);
  const os::NoSigpipe no_sigpipe;
  const base::log::ScopedSink scope{server->log.get()};
  auto& process = server->process();
  const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
  const auto for_callback = Deadline::after(base::now(), hold::Held::longest_last_word / 2);
  auto locks = process.keeper.take_out(*kept, for_callback);
  kept->spend();
  auto all = std::move(locks).give_back();
  const auto loss = kept->loss();
  parting.end = loss ? end_after(*loss) : end;
  if (parting.slot) parting.slot->end = loss ? store::Parting::SlotEnd::open : of_slot;
  if (loss) parting.min_hold = {};
  auto outcome = Released::yes;
  std::size_t left = all.size();
  for (auto& each : all) {
    const auto share = hold::share_of(limit, left--);
    try {
      outcome = worse_of(outcome, give_back(each, parting, share));
      if (each.notice) each.held.confirm_stopped(*each.notice, limit);
    } catch (const std::system_error&) {
      outcome = worse_of(outcome, Released::unheard);
    }
  }
  const bool unsafe = loss && loss->kind != Loss::Kind::cancelled;
  released = unsafe ? Released::lost_before : outcome;
  return *released;
}

Lock::Impl::~Impl() {
  if (is_in_child()) {
    // Its connections are its parent's: nothing may be said on them, so they are left open.
    auto* const left = new (std::nothrow) std::shared_ptr<library::Kept>;
    if (left != nullptr) left->swap(kept);
    return;  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it is left
  }
  (void)release({{store::RunOutcome::Kind::released}}, store::Parting::SlotEnd::open);
  server->process().keeper.await_told(*kept);
}

Lock::Lock(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Lock::Lock(Lock&&) noexcept = default;
Lock& Lock::operator=(Lock&&) noexcept = default;
Lock::~Lock() = default;

std::uint64_t Lock::fence() const {
  return impl_->leases.front().fence;
}

std::uint64_t Lock::fence(std::string_view key) const {
  for (const auto& lease : impl_->leases) {
    if (lease.name.text() == key) return lease.fence;
  }
  return 0;
}

const std::string& Lock::token() const {
  return impl_->leases.front().token.text();
}

unsigned Lock::permit() const {
  return impl_->leases.front().permit;
}

const std::string& Lock::resource() const {
  return impl_->leases.front().resource;
}

unsigned Lock::attempt() const {
  return impl_->leases.front().attempt;
}

std::stop_token Lock::lost() const {
  if (!impl_->is_in_child()) return impl_->kept->lost();
  std::stop_source stopped;
  stopped.request_stop();
  return stopped.get_token();
}

std::optional<Loss> Lock::loss() const {
  if (impl_->is_in_child()) {
    return Loss{Loss::Kind::gone, "the process that holds the lock is the parent of this one"};
  }
  return impl_->kept->loss();
}

int Lock::descriptor() const {
  return impl_->is_in_child() ? -1 : impl_->kept->descriptor();
}

Millis Lock::valid_for() const {
  if (impl_->is_in_child()) return Millis{0};
  const auto until = impl_->kept->valid_until();
  if (until.is_never()) return Millis::max();
  // The time that is left for certain, so rounded down.
  const auto left = std::chrono::floor<Millis>(until.moment() - base::now());
  return std::max(left, Millis{0});
}

Released Lock::release() {
  return impl_->release({{store::RunOutcome::Kind::released}}, store::Parting::SlotEnd::open);
}

}  // namespace v0
}  // namespace rlock
