// The rules of a lock: how a request changes its state, the answer, and the posts to others. No
// I/O, no clock, no randomness. The Lua scripts for Redis decide the same; `scripts/simulate
// --shape rules` compares the two.
#pragma once

#include <variant>
#include <vector>

#include "store/answers.hpp"
#include "store/lock_admin.hpp"
#include "store/rules/lock_state.hpp"
#include "store/rules/runs.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {

/// The server's knowledge besides the lock.
struct Facts {
  std::uint64_t now_us;  // since 1970
};

/// A message to one process: "wake", "next" (look again soon), "done" (the slot is), or one that is
/// also a Letter: "stop REPLY TEXT", "lost REPLY WHO".
struct Post {
  std::string to;
  std::string message;

  bool operator==(const Post&) const = default;
};

template <typename Answer>
struct Decision {
  Answer answer;
  std::vector<Post> posts{};  // in this order, after the state is kept; each may be lost
};

/// Wants the lock, or still wants it. Repeating it with the same token is always safe: it finds a
/// grant whose answer was lost, confirms a reservation, or keeps the position.
struct Enter {
  Claim claim;                            // without `bid` and `sync_replicas`
  std::optional<std::uint64_t> ticket{};  // from an earlier answer
  Millis tried{};                         // since the first try with a lost answer; 0: none
  Pace pace{heartbeat, patience};         // of all clients of the server
};
struct Grant {
  Fence fence;
  unsigned permit = 0;  // 0: none
  RunNumber number{};   // of the run for the slot
  bool again = false;   // the token already had the lock
};
/// No higher fence is possible: only a foreign client writes such a number.
struct NoHigherFence {
  Fence fence;
};
using Entered = std::variant<Grant, Queued, Busy, ModeConflict, SlotDone, NoHigherFence>;
Decision<Entered> decide(LockState& state, const Enter& request, Facts facts);

/// Releases the lock.
struct Leave {
  Token token;
  Parting parting;
};
/// Leaves the queue, and releases a grant whose answer was lost.
struct Cancel {
  Claim claim;
};
/// The result of a request about the caller's own hold.
enum class Own {
  ours,       // and as requested
  nobodys,    // the lock is free
  elsewhere,  // another client holds the lock
};
Decision<Own> decide(LockState& state, const Leave& request, Facts facts);
Decision<Own> decide(LockState& state, const Cancel& request, Facts facts);

/// Extends the lease by `ttl` from now.
struct Refresh {
  Token token;
  Ttl ttl;
};
Decision<Own> decide(LockState& state, const Refresh& request, Facts facts);

/// Takes the lock from those of `shown` that still hold it.
struct ForceRelease {
  std::vector<Token> shown;
  std::string by;
  std::string reply_to;  // the address for a last word; empty: none is awaited
};
Decision<Removal> decide(LockState& state, const ForceRelease& request, Facts facts);

/// A message to those that hold the lock or wait for it; the answer is their number.
struct AskToStop {
  std::vector<Token> whom;
  std::string why;
  std::string reply_to;
};
Decision<std::size_t> decide(LockState& state, const AskToStop& request, Facts facts);

/// Tells the waiting operator that a holder's job has stopped.
struct LastWordTo {
  std::string reply_to;
};
Decision<base::Done> decide(LockState& state, const LastWordTo& request, Facts facts);

/// Drops expired parts. The functions below need a settled state.
void settle(LockState& state, Facts facts);
/// How long the token still holds the lock, and its fence; nothing if it does not.
struct StillHeld {
  Millis left;
  Fence fence;
};
std::optional<StillHeld> check(const LockState& state, const Token& token, Facts facts);
/// The holder as shown to others; nothing if the lock is free.
std::optional<Holder> holder_of(const LockState& state, Facts facts);
/// The recorded runs, newest first, at most `most`.
std::vector<Run> shown_runs(const LockState& state, TimeMs now, std::size_t most);
/// Everything known at that instant, with at most `runs` runs.
LockReport report(const LockName& name, const LockState& state, Facts facts,
                  std::size_t runs = remembered_runs);

}  // namespace store::rules
