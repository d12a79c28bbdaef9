// The rules of a lock: what a request makes of its state, what the answer is, and who is woken or
// told. No I/O, no clock, no randomness. The scripts of Redis decide the same in Lua;
// `scripts/simulate --shape rules` compares the two.
#pragma once

#include <variant>
#include <vector>

#include "store/answers.hpp"
#include "store/lock_admin.hpp"
#include "store/rules/lock_state.hpp"
#include "store/rules/runs.hpp"

namespace store::rules {

/// What the server knows besides the lock.
struct Facts {
  std::uint64_t now_us;  // since 1970
};

/// A word to one process: "wake", "next" (look again soon), "done" (so is the slot), or one that is
/// a Letter as well: "stop REPLY TEXT", "lost REPLY WHO".
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

/// Wants the lock, or keeps wanting it. Asking again with the same token is always right: it finds
/// the grant whose answer was lost, confirms a reservation, or keeps its place.
struct Enter {
  Claim claim;                            // but for a `bid` and `sync_replicas`
  std::optional<std::uint64_t> ticket{};  // to come back with
  Millis tried{};                         // since the first try whose answer was lost; 0: none was
};
struct Grant {
  Fence fence;
  unsigned permit = 0;  // 0: none
  RunNumber number{};   // of the run for the slot
  bool again = false;   // it had the lock before
};
/// The fence leaves no room for a higher one: only another kind of client writes such a number.
struct NoHigherFence {
  Fence fence;
};
using Entered = std::variant<Grant, Queued, Busy, ModeConflict, SlotDone, NoHigherFence>;
Decision<Entered> decide(LockState& state, const Enter& request, Facts facts);

/// Gives the lock back.
struct Leave {
  Token token;
  Parting parting;
};
/// Stops wanting it; a grant that was not heard is given back.
struct Cancel {
  Claim claim;
};
/// What became of who asked for a hold of its own.
enum class Own {
  ours,       // and it is as was asked
  nobodys,    // nobody has it any more
  elsewhere,  // somebody else has it
};
Decision<Own> decide(LockState& state, const Leave& request, Facts facts);
Decision<Own> decide(LockState& state, const Cancel& request, Facts facts);

/// The lease lasts for another `ttl` from now.
struct Refresh {
  Token token;
  Ttl ttl;
};
Decision<Own> decide(LockState& state, const Refresh& request, Facts facts);

/// Takes the lock from those of the holders shown that still hold it.
struct ForceRelease {
  std::vector<Token> shown;
  std::string by;
  std::string reply_to;  // where a last word is waited for; empty: nobody waits
};
Decision<Removal> decide(LockState& state, const ForceRelease& request, Facts facts);

/// A word to those of them that hold the lock or wait for it; the answer says how many these are.
struct AskToStop {
  std::vector<Token> whom;
  std::string why;
  std::string reply_to;
};
Decision<std::size_t> decide(LockState& state, const AskToStop& request, Facts facts);

/// The job of a holder has stopped: a word to who waits for that.
struct LastWordTo {
  std::string reply_to;
};
Decision<base::Done> decide(LockState& state, const LastWordTo& request, Facts facts);

/// Drops what has ended by then. What looks at a state, below, is for one that is settled.
void settle(LockState& state, Facts facts);
/// How long the token still holds the lock, and with which fence; nothing: it does not.
struct StillHeld {
  Millis left;
  Fence fence;
};
std::optional<StillHeld> check(const LockState& state, const Token& token, Facts facts);
/// Who has the lock, as it is told to others; nothing: it is free.
std::optional<Holder> holder_of(const LockState& state, Facts facts);
/// What it remembers, the newest first, at most so many.
std::vector<Run> shown_runs(const LockState& state, TimeMs now, std::size_t most);
/// Everything known at that instant, with at most so many runs.
LockReport report(const LockName& name, const LockState& state, Facts facts,
                  std::size_t runs = remembered_runs);

}  // namespace store::rules
