// The contract that every backend keeps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "os/poll.hpp"
#include "store/lease.hpp"

namespace store {

using os::Patience;

/// The server did not do as asked.
struct Fault {
  enum class Kind {
    unreachable,  // no connection: it did not happen
    silent,       // no answer (too slow, cut off, interrupted): it may or may not have happened
    unavailable,  // it says that it cannot now (loading, read-only, out of memory): it did not
                  // happen
    denied,       // credentials or permissions: asking again will not help
    unusable,     // an answer that makes no sense: not the server we need
  };
  Kind kind;
  std::string why;  // for people; never contains a secret
};

/// Who has a lock that we do not have.
struct Occupant {
  enum class Kind { holder, reserved, foreign } kind;  // reserved: woken, has not confirmed yet
  std::string token;  // what the server stores; empty for a value that is no string
  std::optional<Millis> held_for;
  std::optional<Millis> expires_in;  // nothing: it never expires by itself
};

enum class OnBusy { give_up, queue };

/// What we want: the lock `name` for `ttl`, as the holder that `token` names. The token also is our
/// identity in the queue; claiming again with the same one never takes two places nor two locks.
struct Claim {
  LockName name;
  Token token;
  Ttl ttl;
  OnBusy on_busy;
};

struct Granted {
  Lease lease;  // may already be over, if the answer was slow: look at valid_until
};
struct Queued {
  std::optional<Occupant> occupant;
  std::size_t ahead;  // waiters before us
};
struct Busy {
  std::optional<Occupant> occupant;
  std::size_t waiting;
};
using Attempt = std::variant<Granted, Queued, Busy, Fault>;

struct Renewed {
  Deadline valid_until;
};
/// Definite: the lock is gone or somebody else's.
struct NotOurs {
  std::string why;
};
using Renewal = std::variant<Renewed, NotOurs, Fault>;

struct Released {};
using Release = std::variant<Released, NotOurs, Fault>;

/// Why await_turn() returned: it may be our turn, so claim again; or patience ended and we go on
/// queueing.
enum class Turn { claim_again, still_waiting };

/// Somebody took the lock away and tells us so, before a refresh would find out.
struct Notice {
  std::string why;
  std::string reply_to;  // where confirm_stopped() sends its word
};

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
  /// (Re)connects and subscribes as needed. Bounded by `patience`; failing is not an error: a
  /// refresh will find out the same, later.
  virtual void listen(const Patience& patience) = 0;
};

/// One thread at a time. Every call returns within its patience plus scheduling (and name
/// resolution, which nobody can interrupt); nothing here throws because a server misbehaved.
class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  virtual Attempt try_acquire(const Claim& claim, const Patience& patience) = 0;
  /// Only after Queued. May be called again and again while it says still_waiting.
  virtual Turn await_turn(const Claim& claim, const Patience& patience) = 0;
  /// Leaves the queue, and gives back what the claim may have been granted unheard. Also right
  /// after a Fault, or when nothing was ever queued.
  virtual void withdraw(const Claim& claim, const Patience& patience) = 0;

  virtual Renewal renew(const Lease& lease, const Patience& patience) = 0;
  virtual Release release(const Lease& lease, const Patience& patience) = 0;

  /// A store whose holders need not be told otherwise (e.g. by their session) returns nullptr.
  virtual std::unique_ptr<Listener> listener(const Lease& lease) = 0;
  /// Tells whoever sent the notice that our job has stopped.
  virtual void confirm_stopped(const Lease& lease, const Notice& notice,
                               const Patience& patience) = 0;
};

}  // namespace store
