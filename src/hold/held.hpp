// The proof that a lock is ours.
#pragma once

#include <memory>
#include <utility>

#include "store/lock_store.hpp"

namespace hold {

/// Made only by a grant; move-only. Whoever has it may refresh and release, and nobody else can,
/// because the store is inside. Unspent, it releases itself (bounded by `longest_last_word`).
class Held {
 public:
  static constexpr base::Millis longest_last_word{2'000};

  Held(std::unique_ptr<store::LockStore> store, store::Lease lease)
      : store_{std::move(store)}, lease_{std::move(lease)} {}
  Held(Held&&) noexcept = default;
  Held& operator=(Held&&) = delete;
  ~Held();

  [[nodiscard]] const store::Lease& lease() const { return lease_; }

  /// On success the lease's validity is the new one.
  store::Renewal renew(const os::CallLimit& limit);

  /// Spends it: the lock stays taken until `min_hold` after the grant is over, then it is free.
  /// Tried again after a silent fault, with the same token, until limit ends: an answer that was
  /// lost makes the second try find nothing of ours, which then is success.
  store::Release release(const os::CallLimit& limit, base::Millis min_hold = {});

  std::unique_ptr<store::Listener> listener() {
    return store_->listener(lease_.name, lease_.token);
  }

  /// Tells whoever sent the notice that the job has stopped. Also right once it is spent.
  void confirm_stopped(const store::Notice& notice, const os::CallLimit& limit) {
    connection().confirm_stopped(lease_.name, notice, limit);
  }
  /// There is nothing to release: definitely lost, or left to somebody else. Spends it.
  void give_up() { spent_ = std::move(store_); }

 private:
  [[nodiscard]] store::LockStore& connection() { return store_ ? *store_ : *spent_; }

  std::unique_ptr<store::LockStore> store_;  // null once spent
  std::unique_ptr<store::LockStore> spent_;
  store::Lease lease_;
};

}  // namespace hold
