// The contract of every kind of lock server.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "os/poll.hpp"
#include "store/answers.hpp"

namespace store {

using os::CallLimit;

/// A connection on which a holder receives notices. May move to another thread; one thread at a
/// time.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Readable when take() may have a notice; -1 while there is no connection.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Never blocks.
  virtual std::optional<Notice> take() = 0;
  /// The latest time for the next listen(), also after a lost connection.
  [[nodiscard]] virtual Deadline due() const = 0;
  /// Connects and subscribes as needed, within `limit`. A failure is not an error: a refresh will
  /// notice it later.
  virtual void listen(const CallLimit& limit) = 0;
};

/// The listeners of many holders on one connection. One thread uses them all; any may destroy one.
class ListenerGroup {
 public:
  virtual ~ListenerGroup() = default;
  virtual std::unique_ptr<Listener> listener(const LockName& name, const Token& token) = 0;
};

/// One thread at a time. Every call returns within its limit plus scheduling (and name resolution,
/// which cannot be interrupted). A server's misbehaviour never makes it throw.
class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  virtual Attempt try_acquire(const Claim& claim, const CallLimit& limit) = 0;
  /// Only after Queued. The caller may repeat it after StillWaiting; a Notice asks it to stop
  /// wanting the lock.
  virtual Turn await_turn(const Claim& claim, const CallLimit& limit) = 0;
  /// Whether another try_acquire() in the middle of a wait loses no notice. If it may lose one,
  /// only the store ends waits, in time for `limit.news_by`.
  [[nodiscard]] virtual bool may_ask_while_waiting() const { return true; }
  /// Leaves the queue, and releases a grant whose answer was lost. Safe after a Fault, or if
  /// nothing was queued. If the server does not answer, it may still act later, even after the next
  /// request: so a later claim needs another token.
  virtual void withdraw(const Claim& claim, const CallLimit& limit) = 0;

  /// Extends the lock by `ttl` from now, if `token` still holds it.
  virtual Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                        const CallLimit& limit) = 0;
  /// Releases the lock; within `min_hold` of its grant, the lock stays taken until that is over.
  virtual Release release(const LockName& name, const Token& token, const Parting& parting,
                          const CallLimit& limit) = 0;
  /// Whether `token` holds the lock, and until when at least. Changes nothing.
  virtual Standing check(const LockName& name, const Token& token, const CallLimit& limit) = 0;

  /// Forgets the last claim and its lease, so that another lock may use the connection. False: it
  /// cannot, and is to be closed.
  virtual bool start_over() { return false; }

  /// nullptr if holders learn of a loss in another way (e.g. by their session).
  virtual std::unique_ptr<Listener> listener(const LockName& name, const Token& token) = 0;
  /// nullptr if each holder needs a listener() of its own.
  virtual std::shared_ptr<ListenerGroup> listener_group() { return nullptr; }
  /// Tells the sender of the notice that our job has stopped.
  virtual void confirm_stopped(const LockName& name, const Notice& notice,
                               const CallLimit& limit) = 0;
};

/// Abilities that not every kind of store has.
enum class Feature {
  shared,         // readers and writers
  permits,        // several holders, up to a limit
  steps,          // a hold that outlives its process
  min_hold,       // a minimum time, however short the job is
  max_waiters,    // busy if that many wait
  supersede,      // newest wins
  sync_replicas,  // a grant confirmed by replicas
  local_gate,     // the server sees only one of a host's waiters
};

using Features = std::initializer_list<Feature>;

}  // namespace store
