// The locks that are ours: the proof of holding one, its refreshing in time, and what others want
// of it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

  /// Spends it, as `parting` says; without one it is free at once, and nothing is remembered.
  /// Tried again after a silent fault, with the same token, until limit ends: an answer that was
  /// lost makes the second try find nothing of ours, which then is success. The first try has half
  /// of the time.
  store::Release release(const os::CallLimit& limit, const store::Parting& parting = {});

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

/// All leases last until then at least.
struct Extended {
  store::Deadline valid_until;
};
/// A refresh failed; it will be tried again.
struct Trouble {
  std::string why;
};
/// The lock is definitely not ours any more, and is not refreshed any more.
struct Lost {
  store::LockName name;
  std::string why;
};
/// Somebody wants the job to stop. The lock still is ours.
struct AskedToStop {
  store::LockName name;
  std::string why;
};
using News = std::variant<Extended, Trouble, Lost, AskedToStop>;

/// Every third of the TTL, reckoned from the last success so that the rhythm does not drift; after
/// a fault again after 50 ms, doubling, at most a tenth of the TTL.
class Pace {
 public:
  Pace(store::Ttl ttl, base::Moment granted_at) : ttl_{ttl.length()} { succeeded(granted_at); }

  [[nodiscard]] base::Deadline next() const { return next_; }

  void succeeded(base::Moment asked_at) {
    next_ = base::Deadline::after(asked_at, ttl_ / 3);
    retry_ = first_retry;
  }
  void failed(base::Moment now) {
    next_ = base::Deadline::after(now, std::min(retry_, longest_retry()));
    retry_ *= 2;
  }

  /// How long one refresh may take before it is tried again on a fresh connection: short enough for
  /// several tries within what is left of a lease, long enough for a slow network.
  [[nodiscard]] base::Millis answer_time() const {
    return std::clamp(ttl_ / 6, base::Millis{25}, base::Millis{5'000});
  }

 private:
  static constexpr base::Millis first_retry{50};
  [[nodiscard]] base::Millis longest_retry() const { return ttl_ / 10; }

  base::Millis ttl_;
  base::Millis retry_{first_retry};
  base::Deadline next_ = base::Deadline::never();
};

/// For the first of so many that are released one after the other. Where connections have died, the
/// first one that is tried takes half of the time to find that out; from then on each has an even
/// share.
inline os::CallLimit share_of(const os::CallLimit& limit, std::size_t left) {
  const auto now = base::now();
  const auto rest = limit.until.left(now);
  if (left < 2 || rest > Held::longest_last_word / 2) return limit;
  return limit.at_most(base::Deadline::after(now, rest / static_cast<base::Millis::rep>(left)));
}

/// What became of one lock that was cared for.
struct ReturnedLock {
  Held held;
  bool lost;                            // there is nothing to release
  std::optional<store::Notice> notice;  // somebody waits for the word that the job has stopped
};

/// One or several locks, each refreshed in its own rhythm. Never blocks longer than one refresh may
/// take. One thread at a time: the main thread while it waits for more locks, the renewer's
/// afterwards.
class HeldLocks {
 public:
  void add(Held held);
  [[nodiscard]] bool empty() const { return locks_.empty(); }
  [[nodiscard]] std::size_t size() const { return locks_.size(); }
  /// In the order in which they came.
  [[nodiscard]] std::vector<store::Lease> leases() const;
  /// The earliest end of all leases, those of lost locks apart; never() if there are none.
  [[nodiscard]] store::Deadline valid_until() const;

  /// When refresh() is due, and what it does: one lock, the one that is due first.
  [[nodiscard]] store::Deadline due() const;
  News refresh(int interrupt);

  /// When listen() is due, which connects and subscribes where it is needed; not before the first
  /// call does anybody listen.
  [[nodiscard]] store::Deadline listen_due() const;
  void listen(int interrupt);
  /// Readable when hear() may have something to say; -1 while there is no connection.
  [[nodiscard]] std::vector<int> descriptors() const;
  std::optional<News> hear();

  /// The locks, in the order in which they came.
  std::vector<ReturnedLock> give_back() &&;
  /// Releases them without a word to people, where no job ran, and sends the word that none runs to
  /// those who wait for it. Takes at most `Held::longest_last_word`.
  void abandon() &&;

 private:
  struct Lock {
    explicit Lock(Held granted)
        : held{std::move(granted)}, pace{held.lease().ttl, held.lease().asked_at} {}

    Held held;
    Pace pace;
    std::unique_ptr<store::Listener> listener{};
    bool lost = false;
    bool deaf = false;          // the store has no listener for it
    bool disturbed = false;     // the last refresh failed
    bool listen_again = false;  // where the next one succeeded, which may be another server
    std::optional<store::Notice> notice{};

    [[nodiscard]] store::Deadline due() const {
      return lost ? store::Deadline::never() : pace.next();
    }
    [[nodiscard]] store::Deadline listen_due() const;
  };
  News refresh(Lock& lock, int interrupt) const;
  static News lose(Lock& lock, std::string why);

  std::vector<Lock> locks_;
};

}  // namespace hold
