// What a lock server answers: to a claim, a refresh, a release, a check, and to a waiter.
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

struct Granted {
  Lease lease;         // may already be over, if the answer was slow: look at valid_until
  std::string flaw{};  // unless empty, why it must not be used: withdraw it
  bool again = false;  // the claim had been granted before, if the server says that
};
struct Queued {
  std::optional<Holder> holder;
  std::size_t ahead;                    // waiters before us
  std::optional<Millis> look_in;        // when something may have happened of which nobody tells
  std::optional<Millis> typical_run{};  // see rules::typical_length(); nothing: none is remembered
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

}  // namespace store
