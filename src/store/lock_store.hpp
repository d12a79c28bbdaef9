// The contract that every backend keeps: what is asked of a store, and what it answers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/duration.hpp"
#include "base/result.hpp"
#include "os/poll.hpp"
#include "store/names.hpp"
#include "store/runs.hpp"

namespace store {

using base::Deadline;
using base::Millis;
using base::Moment;
using os::CallLimit;

/// Greater for every grant of a key than for all earlier ones. On Redis it
/// is the server's time of the grant in µs wherever that keeps the order.
using Fence = std::uint64_t;

/// How long a server keeps the lock without hearing from us; at least 100 ms.
class Ttl {
 public:
  static constexpr Millis shortest{100};
  /// A year: beyond it, a crashed holder's lock is as good as never freed.
  static constexpr Millis longest{Millis{1000} * 60 * 60 * 24 * 365};

  static std::optional<Ttl> from(Millis length) {
    if (length < shortest || length > longest) return std::nullopt;
    return Ttl{length};
  }

  [[nodiscard]] Millis length() const { return length_; }
  [[nodiscard]] Millis drift() const { return drift_over(length_); }
  /// What our clock may differ from the server's over so long: 1 % of rate (a quartz is off by
  /// 0.01 %) and 2 ms for the server's own granularity, as Redlock reckons.
  static Millis drift_over(Millis length) { return length / 100 + Millis{2}; }

 private:
  explicit Ttl(Millis length) : length_{length} {}
  Millis length_;
};

/// Until when a lease granted or refreshed by a command is certainly valid: counted from the moment
/// *before* the command was sent, because the server cannot have started its clock earlier. There
/// is no parameter for "now" on purpose.
inline Deadline validity(Moment asked_at, Ttl ttl) {
  return Deadline::after(asked_at, ttl.length() - ttl.drift());
}
/// The same, where the server says that so much of a lease is `left`.
inline Deadline validity(Moment asked_at, Millis left) {
  return Deadline::after(asked_at, left - Ttl::drift_over(left));
}

struct Lease {
  LockName name;
  Token token;
  Ttl ttl;
  Deadline valid_until;
  Fence fence;
  Moment asked_at;         // of the grant or the last refresh: from here the next one is reckoned
  unsigned attempt = 0;    // the number of the run for its slot, from 1; 0: it has none
  unsigned failures = 0;   // how many runs for the slot failed before
  unsigned permit = 0;     // which of several, from 1; 0: there are no permits
  std::string resource{};  // what that permit is called; empty: it has no name
};

/// Alone, together with other readers, or as one of at most `permits` holders. All who use a key at
/// the same time must agree: readers and writers (exclusive) go together, permits only with the
/// same number of them, and the same names in the same order.
struct Mode {
  enum class Kind { exclusive, shared, permits };
  static constexpr unsigned most_permits = 1'000'000;

  Kind kind = Kind::exclusive;
  unsigned permits = 1;              // from 2 where kind is permits, from 1 if they have names
  std::vector<std::string> names{};  // of all of the permits; empty: they have none

  bool operator==(const Mode&) const = default;
  /// What the permit of that number is called; empty if it has no name.
  [[nodiscard]] std::string name_of(unsigned permit) const {
    return permit > 0 && permit <= names.size() ? names[permit - 1] : std::string{};
  }
};

/// The server did not do as asked.
struct Fault {
  enum class Kind {
    unreachable,    // no connection: it did not happen
    silent,         // no answer (too slow, cut off, interrupted): it may or may not have happened
    unavailable,    // it says that it cannot now (loading, read-only, out of memory): it did not
                    // happen
    denied,         // credentials or permissions: asking again will not help
    unusable,       // an unexpected answer: not the server we need
    misconfigured,  // the servers are not what the configuration takes them for
  };
  Kind kind;
  std::string why;  // for people; never contains a secret
};

/// The reason of a silent Fault where we did not wait any more: it says nothing of the server.
inline constexpr std::string_view cut_short = "interrupted";

/// A `T`, or why the server did not give one.
template <typename T>
using Result = base::Result<T, Fault>;

/// The Fault in an answer; nullptr if there is none.
template <typename T>
Fault* fault_in(Result<T>& answer) {
  return answer ? nullptr : &answer.error();
}
template <typename... Outcomes>
Fault* fault_in(std::variant<Outcomes...>& answer) {
  return std::get_if<Fault>(&answer);
}

/// Adds how long the question had, if that time was up: a user wants to know what was waited for.
inline void say_limit(Fault& fault, Moment asked_at, Deadline due) {
  if (!due.passed(base::now())) return;
  fault.why += " (" + base::format_duration(due.left(asked_at)) + ")";
}

/// Who has a lock that we do not have.
struct Holder {
  enum class Kind {
    holder,
    kept,       // its job has ended; --min-hold keeps the lock
    reserved,   // woken, has not confirmed yet
    foreign,    // no rlock
    neighbour,  // has no lock either, but waits at the server for this host
  } kind;
  std::string token;  // what the server stores; empty for a value that is no string
  std::optional<Millis> held_for;
  std::optional<Millis> expires_in;  // nothing: it never expires by itself
  std::size_t others = 0;            // that hold it together with this one
  std::string reason{};              // what it says that it wants the lock for, if that is known
};

enum class OnBusy { give_up, queue };

/// What we want: the lock `name` for `ttl`, as the holder that `token` names. The token also is our
/// identity in the queue; claiming again with the same one never takes two places nor two locks.
struct Claim {
  LockName name;
  Token token;
  Ttl ttl;
  OnBusy on_busy;
  Mode mode{};
  std::optional<unsigned> max_waiters{};  // with that many in the queue: busy
  unsigned sync_replicas = 0;             // that must have a grant, or it is none
  bool token_stays = false;               // it names the holder of other locks, too
  std::string
      supersede{};  // unless empty: holders are asked to stop and waiters sent away with this
  bool spare_holders = false;  // only waiters are
  Millis history{};            // for so long the run is remembered after its end; 0: not at all
  Millis waited{};             // up to now, for that memory
  std::optional<Slot> slot{};  // needs a history
  std::string reason{};        // what the lock is wanted for, for people; needs one, too
  // Where several servers are to order their queues alike: the place, µs since 1970 by the clock of
  // the client; 0: the server chooses it.
  std::uint64_t ticket = 0;
  bool newcomer = false;  // no server has given it that ticket yet
  // The fence that all of them are to give, µs by the same clock; 0: each gives one of its own.
  Fence wish = 0;
};

/// What supersede begins with, so that it can be told from other requests to stop.
inline constexpr std::string_view superseded_by = "superseded by ";

/// How a lock is given back.
struct Parting {
  Millis min_hold{};             // it stays taken so long after its grant, then it is free
  Millis history{};              // as of the claim
  std::optional<RunEnd> end{};   // for the memory; nothing: there was no run
  std::optional<Fence> fence{};  // of the grant; the server may have lost it, or know another one
  /// What the end means for a slot: it is done, or is unless more runs may fail, or stays open.
  enum class SlotEnd { done, failed, open };
  struct OfSlot {
    Slot slot;
    unsigned attempt;   // as the lease says
    unsigned failures;  // before this run
    SlotEnd end;
  };
  std::optional<OfSlot> slot{};
};

/// A grant that is given back, and never was a run.
inline Parting no_run(const Claim& claim) {
  Parting parting;
  parting.history = claim.history;
  if (claim.slot) parting.slot = {*claim.slot, 0, 0, Parting::SlotEnd::open};
  return parting;
}

struct Granted {
  Lease lease;         // may already be over, if the answer was slow: look at valid_until
  std::string flaw{};  // unless empty, why it must not be used: withdraw it
  bool again = false;  // the claim had been granted before, if the server says that
};
struct Queued {
  std::optional<Holder> holder;
  std::size_t ahead;                    // waiters before us
  std::optional<Millis> look_in;        // when something may have happened of which nobody tells
  std::optional<Millis> typical_run{};  // see typical_length(); nothing: none is remembered
  std::uint64_t ticket = 0;             // of a server that knows tickets
};
struct Busy {
  std::optional<Holder> holder;
  std::size_t waiting;
};
/// Somebody uses the key in a way that does not go together with ours.
struct ModeConflict {
  Mode mode;
  Token token;  // who does
};
/// A run for the claim's slot has ended by itself: there is nothing left to do, and nothing of the
/// claim on the server.
struct SlotDone {
  Token by;
  Fence fence;
  unsigned attempt;
  RunOutcome outcome;
  Millis ended_ago;
};
/// A server may yet hear that an earlier claim by this token was taken back: no use asking with it.
struct TokenExhausted {
  std::string why;
};
using Attempt = std::variant<Granted, Queued, Busy, ModeConflict, SlotDone, TokenExhausted, Fault>;

struct Renewed {
  Deadline valid_until;  // never(): the lock does not end by itself
  Moment asked_at;
};
/// Definite: the lock is gone or somebody else's.
struct NotOurs {
  std::string why;
};
using Renewal = std::variant<Renewed, NotOurs, Fault>;

struct Released {};
using Release = std::variant<Released, NotOurs, Fault>;

struct StillOurs {
  Deadline until;
  std::optional<Fence> fence;
};
struct Elsewhere {
  std::optional<Holder> holder;
};
using Standing = std::variant<StillOurs, Elsewhere, Fault>;

/// A word to whoever holds a lock, or waits for it.
struct Notice {
  enum class Kind {
    lost,  // the lock was taken away; a refresh would find out later
    stop,  // please stop, and give it back
  } kind;
  std::string why;       // "force-released by app@web1"
  std::string reply_to;  // where confirm_stopped() sends its word; empty: nobody waits for it
};

/// It may be our turn.
struct ClaimAgain {
  /// Unless empty: the wait was cut short, why, and the next one may end in the same way. A caller
  /// pauses before it claims again, longer each time.
  std::string cut{};
};
/// CallLimit ended; we go on queueing.
struct StillWaiting {};
/// A fault is one that no claim would show; anything else that goes wrong is a ClaimAgain that was
/// cut short.
using Turn = std::variant<ClaimAgain, StillWaiting, Notice, Fault>;

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

  /// Makes `lease.fence` the fence of the lease's grant here, if its token still holds the lock and
  /// no later fence was ever given; NotOurs otherwise. So it is with the number of the run for the
  /// claim's slot. A store that can be part of a quorum does it.
  virtual Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit);

  /// A store whose holders need not be told otherwise (e.g. by their session) returns nullptr.
  virtual std::unique_ptr<Listener> listener(const LockName& name, const Token& token) = 0;
  /// Tells whoever sent the notice that our job has stopped.
  virtual void confirm_stopped(const LockName& name, const Notice& notice,
                               const CallLimit& limit) = 0;
};

inline Renewal LockStore::raise_fence(const Claim& /*claim*/, const Lease& /*lease*/,
                                      const CallLimit& /*limit*/) {
  return Fault{Fault::Kind::unusable, "this kind of store cannot be part of a quorum"};
}

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
