// The locks that we hold: proof of holding, timely refreshes, and notices from others.
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

/// Made only by a grant; move-only. Its owner alone can refresh and release, because the store is
/// inside. If unspent, it releases itself (bounded by `longest_last_word`).
class Held {
 public:
  static constexpr base::Millis longest_last_word{2'000};

  Held(std::unique_ptr<store::LockStore> store, store::Lease lease)
      : store_{std::move(store)}, lease_{std::move(lease)} {}
  Held(Held&&) noexcept = default;
  Held& operator=(Held&&) = delete;
  ~Held();

  [[nodiscard]] const store::Lease& lease() const { return lease_; }

  /// On success the lease's validity is the new one. Without a descriptor for a connection it is a
  /// Fault.
  store::Renewal renew(const os::CallLimit& limit);

  /// Spends it, as `parting` says; by default the lock is free at once and nothing is recorded.
  /// After a silent fault, tries again with the same token until the limit ends: if an answer was
  /// lost, the second try finds nothing of ours, which counts as success. The first try gets half
  /// of the time.
  store::Release release(const os::CallLimit& limit, const store::Parting& parting = {});

  std::unique_ptr<store::Listener> listener() {
    return store_->listener(lease_.name, lease_.token);
  }

  /// Tells the sender of the notice that the job has stopped. Allowed after it is spent.
  void confirm_stopped(const store::Notice& notice, const os::CallLimit& limit) {
    connection().confirm_stopped(lease_.name, notice, limit);
  }
  /// Spends it without a release: the lock is lost for certain, or left to another process.
  void give_up() { spent_ = std::move(store_); }

 private:
  [[nodiscard]] store::LockStore& connection() { return store_ ? *store_ : *spent_; }

  std::unique_ptr<store::LockStore> store_;  // null once spent
  std::unique_ptr<store::LockStore> spent_;
  store::Lease lease_;
};

/// All leases last at least until then.
struct Extended {
  store::Deadline valid_until;
};
/// A refresh failed; it will be tried again.
struct Trouble {
  std::string why;
};
/// The lock is lost for certain and is not refreshed again.
struct Lost {
  store::LockName name;
  std::string why;
};
/// Another process wants the job to stop. We still hold the lock.
struct AskedToStop {
  store::LockName name;
  std::string why;
};
using News = std::variant<Extended, Trouble, Lost, AskedToStop>;

/// Every third of the TTL, counted from the last success so that the rhythm does not drift. After a
/// fault again after 50 ms, doubling, at most a tenth of the TTL.
class Pace {
 public:
  static constexpr base::Millis longest_answer{5'000};

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

  /// How long one refresh may take before a retry on a fresh connection: short enough for several
  /// tries within the rest of a lease, long enough for a slow network.
  [[nodiscard]] base::Millis answer_time() const {
    return std::clamp(ttl_ / 6, base::Millis{25}, longest_answer);
  }

 private:
  static constexpr base::Millis first_retry{50};
  [[nodiscard]] base::Millis longest_retry() const { return ttl_ / 10; }

  base::Millis ttl_;
  base::Millis retry_{first_retry};
  base::Deadline next_ = base::Deadline::never();
};

/// The limit of the first of `left` releases, one after the other. If connections are dead, the
/// first one tried takes half of the time to find out; after that, each has an even share.
inline os::CallLimit share_of(const os::CallLimit& limit, std::size_t left) {
  const auto now = base::now();
  const auto rest = limit.until.left(now);
  if (left < 2 || rest > Held::longest_last_word / 2) return limit;
  return limit.at_most(base::Deadline::after(now, rest / static_cast<base::Millis::rep>(left)));
}

/// The state of one lock at the end.
struct ReturnedLock {
  Held held;
  bool lost;                            // there is nothing to release
  std::optional<store::Notice> notice;  // its sender waits for the confirmation that the job has
                                        // stopped
};

/// One or several locks, each refreshed in its own rhythm. Never blocks for longer than one refresh
/// may take. One thread at a time: the main thread while it waits for more locks, then the
/// renewer's.
class HeldLocks {
 public:
  void add(Held held);
  [[nodiscard]] bool empty() const { return locks_.empty(); }
  [[nodiscard]] std::size_t size() const { return locks_.size(); }
  /// Whether a log has a line about the wait for one of them, so that it should also tell the
  /// grant.
  void note_wait(bool in_log) { wait_in_log_ = in_log; }
  [[nodiscard]] bool is_wait_in_log() const { return wait_in_log_; }
  /// In the order of acquisition.
  [[nodiscard]] std::vector<store::Lease> leases() const;
  /// The earliest end of all leases but those of lost locks; never() if there are none.
  [[nodiscard]] store::Deadline valid_until() const;

  /// When refresh() is due. It refreshes one lock, the one that is due first, and takes no longer
  /// than until `at_most`.
  [[nodiscard]] store::Deadline due() const;
  News refresh(int interrupt, store::Deadline at_most = store::Deadline::never());

  /// When listen() is due, which connects and subscribes as needed, and takes no longer than until
  /// `at_most`. There is no listener before its first call.
  [[nodiscard]] store::Deadline listen_due() const;
  void listen(int interrupt, store::Deadline at_most = store::Deadline::never());
  /// Readable when hear() may return news; -1 while there is no connection.
  [[nodiscard]] std::vector<int> descriptors() const;
  std::optional<News> hear();

  /// The locks, in the order of acquisition.
  std::vector<ReturnedLock> give_back() &&;
  /// Releases them silently, if no job ran, and confirms that no job runs to those who wait for
  /// that. Takes at most `Held::longest_last_word`.
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
    bool listen_again = false;  // after the next success, which may be on another server
    store::Deadline listen_from = store::Deadline::at({});
    std::optional<store::Notice> notice{};

    [[nodiscard]] store::Deadline due() const {
      return lost ? store::Deadline::never() : pace.next();
    }
    [[nodiscard]] store::Deadline listen_due() const;
  };
  News refresh(Lock& lock, const os::CallLimit& limit) const;
  static News lose(Lock& lock, std::string why);

  std::vector<Lock> locks_;
  bool wait_in_log_ = false;
};

}  // namespace hold
