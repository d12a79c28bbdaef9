// The answers of a lock server to a claim, a refresh, a release, a check and a waiter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "store/claim.hpp"

namespace store {

/// The server did not do as asked.
struct Fault {
  enum class Kind {
    unreachable,    // no connection: nothing happened
    silent,         // no answer (too slow, cut off, interrupted): it may or may not have happened
    unavailable,    // refused for now (loading, read-only, out of memory): nothing happened
    denied,         // credentials or permissions: a retry will not help
    unusable,       // an unexpected answer: not the server we need
    misconfigured,  // the servers are not as configured
  };
  Kind kind;
  std::string why;  // for people; never contains a secret
};

/// The reason of a silent Fault when we stopped waiting: it says nothing about the server.
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

/// If the request used up its time, adds how long that was, for the user.
inline void say_limit(Fault& fault, Moment asked_at, Deadline due) {
  if (!due.passed(base::now())) return;
  fault.why += " (" + base::format_duration(due.left(asked_at)) + ")";
}

/// A holder of a lock that we do not have.
struct Holder {
  enum class Kind {
    holder,
    kept,       // its job has ended, but --min-hold keeps the lock
    reserved,   // woken, not confirmed yet
    foreign,    // not an rlock
    neighbour,  // has no lock either, but waits at the server on behalf of this host
  } kind;
  std::string token;  // as the server stores it; empty if the value is not a string
  std::optional<Millis> held_for;
  std::optional<Millis> expires_in;  // nothing: see `ends`
  std::size_t others = 0;            // other holders of the same lock
  std::string reason{};              // why it wants the lock, if known
  /// The end of the hold, besides its release, where no expiry is known.
  enum class Ends {
    never,
    with_owner,  // its process, its host or its session
    with_lease,  // of a step: the server knows when
  } ends = Ends::never;
};

struct Granted {
  Lease lease;         // may have expired if the answer was slow: check valid_until
  std::string flaw{};  // unless empty, why the grant must not be used but withdrawn
  bool again = false;  // the server says that the claim had been granted before
};
struct Queued {
  std::optional<Holder> holder;
  std::size_t ahead;                    // waiters before us
  std::optional<Millis> look_in;        // when to check for changes that no message reports
  std::optional<Millis> typical_run{};  // see rules::typical_length(); nothing: no run is recorded
  std::uint64_t ticket = 0;             // from servers that issue tickets
};
struct Busy {
  std::optional<Holder> holder;
  std::size_t waiting;
};
/// Others use the key in an incompatible mode.
struct ModeConflict {
  Mode mode;
  Token token;  // of one of them
};
/// A run for the claim's slot has ended by itself: nothing is left to do, and nothing of the claim
/// is on the server.
struct SlotDone {
  Token by;
  Fence fence;
  unsigned attempt;
  RunOutcome outcome;
  Millis ended_ago;
};
/// A server may still process a withdrawal of an earlier claim with this token, so the token cannot
/// be used again.
struct TokenExhausted {
  std::string why;
};
using Attempt = std::variant<Granted, Queued, Busy, ModeConflict, SlotDone, TokenExhausted, Fault>;

struct Renewed {
  Deadline valid_until;  // never(): the lock does not expire
  Moment asked_at;
};
/// Certain: the lock is gone or has another holder.
struct NotOurs {
  std::string why;
};
using Renewal = std::variant<Renewed, NotOurs, Fault>;

struct Released {};
using Release = std::variant<Released, NotOurs, Fault>;

struct StillOurs {
  Deadline until;
  std::optional<Fence> fence;
  Mode mode{};  // if the store says: a quorum's node does
};
struct Elsewhere {
  std::optional<Holder> holder;
};
using Standing = std::variant<StillOurs, Elsewhere, Fault>;

/// A message to a holder or a waiter.
struct Notice {
  enum class Kind {
    lost,  // the lock was taken away; a refresh would notice later
    stop,  // a request to stop and release the lock
  } kind;
  std::string why;       // "force-released by app@web1"
  std::string reply_to;  // where confirm_stopped() replies to; empty: no process waits for a reply
};

/// It may be our turn.
struct ClaimAgain {
  /// Unless empty: the wait was cut short, and this is why. The next may end in the same way, so
  /// the caller pauses before it claims again, longer each time.
  std::string cut{};
};
/// CallLimit ended; we stay in the queue.
struct StillWaiting {};
/// A Fault is one that a claim would not reveal; any other failure is a ClaimAgain with `cut`.
using Turn = std::variant<ClaimAgain, StillWaiting, Notice, Fault>;

}  // namespace store
