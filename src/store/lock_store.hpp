// The contract that every kind of lock server keeps.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "os/poll.hpp"
#include "store/answers.hpp"

namespace store {

using os::CallLimit;

/// A line to the server on which a holder hears notices. May move to another thread; one thread at
/// a time.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Readable when take() may have something to say; -1 while there is no connection.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Never blocks.
  virtual std::optional<Notice> take() = 0;
  /// When to call listen() again at the latest (also after a lost connection).
  [[nodiscard]] virtual Deadline due() const = 0;
  /// (Re)connects and subscribes as needed. Bounded by `limit`; failing is not an error: a
  /// refresh will find out the same, later.
  virtual void listen(const CallLimit& limit) = 0;
};

/// One thread at a time. Every call returns within its limit plus scheduling (and name
/// resolution, which nobody can interrupt); nothing here throws because a server misbehaved.
class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  virtual Attempt try_acquire(const Claim& claim, const CallLimit& limit) = 0;
  /// Only after Queued. May be called again and again while it says StillWaiting; a notice is one
  /// to stop wanting the lock.
  virtual Turn await_turn(const Claim& claim, const CallLimit& limit) = 0;
  /// Leaves the queue, and gives back what the claim may have been granted unheard. Also right
  /// after a Fault, or when nothing was ever queued. If nobody answers, the server may still do it,
  /// and later than what is asked next: a claim after this takes another token.
  virtual void withdraw(const Claim& claim, const CallLimit& limit) = 0;

  /// The lock lasts for another `ttl` from now, if `token` still holds it.
  virtual Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                        const CallLimit& limit) = 0;
  /// Gives it back; before `min_hold` after its grant is over, the lock stays taken until then.
  virtual Release release(const LockName& name, const Token& token, const Parting& parting,
                          const CallLimit& limit) = 0;
  /// Whether `token` holds it, and until when at least. Changes nothing.
  virtual Standing check(const LockName& name, const Token& token, const CallLimit& limit) = 0;

  /// A store whose holders need not be told otherwise (e.g. by their session) returns nullptr.
  virtual std::unique_ptr<Listener> listener(const LockName& name, const Token& token) = 0;
  /// Tells whoever sent the notice that our job has stopped.
  virtual void confirm_stopped(const LockName& name, const Notice& notice,
                               const CallLimit& limit) = 0;
};

/// What not every kind of store can do.
enum class Feature {
  shared,         // readers and writers
  permits,        // several holders, but not more than so many
  steps,          // a hold that outlives the process that took it
  min_hold,       // taken for so long, however quick the job is
  max_waiters,    // busy if so many wait
  supersede,      // newest wins
  sync_replicas,  // a grant that replicas have confirmed
  local_gate,     // of one host's waiters only one is seen
  tell_waiters,   // who waits can be told not to
};

using Features = std::initializer_list<Feature>;

}  // namespace store
