// The proof that a lock is ours.
#pragma once

#include <memory>
#include <utility>

#include "store/lock_store.hpp"

namespace hold {

/// Made only by a grant; move-only. Whoever has it may refresh and release, and nobody else can,
/// because the store is inside. Unspent, it releases itself (bounded by `last_patience`).
class Held {
 public:
  static constexpr base::Millis last_patience{2'000};

  Held(std::unique_ptr<store::LockStore> store, store::Lease lease)
      : store_{std::move(store)}, lease_{std::move(lease)} {}
  Held(Held&&) noexcept = default;
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (store_) (void)std::move(*this).release({base::Deadline::after(base::now(), last_patience)});
  }

  [[nodiscard]] const store::Lease& lease() const { return lease_; }

  /// On success the lease's validity is the new one.
  store::Renewal renew(const os::Patience& patience) {
    auto renewal = store_->renew(lease_, patience);
    if (const auto* renewed = std::get_if<store::Renewed>(&renewal)) {
      lease_.valid_until = renewed->valid_until;
    }
    return renewal;
  }

  /// Spends it. Tried again after a silent fault, with the same token, until patience ends: an
  /// answer that was lost makes the second try find nothing of ours, which then is success.
  store::Release release(const os::Patience& patience) &&;

  std::unique_ptr<store::Listener> listener() { return store_->listener(lease_); }

  /// For a holder that was told that its lock was taken away: there is nothing to release, but
  /// somebody waits for the word that the job has stopped. Spends it.
  void confirm_stopped(const store::Notice& notice, const os::Patience& patience) && {
    store_->confirm_stopped(lease_, notice, patience);
    store_.reset();
  }
  /// Definitely lost: there is nothing to release. Spends it.
  void give_up() && { store_.reset(); }

 private:
  std::unique_ptr<store::LockStore> store_;  // null once spent
  store::Lease lease_;
};

}  // namespace hold
