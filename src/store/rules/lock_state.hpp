// The complete state of one lock on a server, as a value: holders, waiters, letters and recorded
// runs. Times are ms since 1970 by the server's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/claim.hpp"
#include "store/rules/slot.hpp"

namespace store::rules {

using TimeMs = std::int64_t;

/// One holder of the lock.
struct Hold {
  Token token;
  Fence fence;
  TimeMs ends;          // the lease
  unsigned permit = 0;  // its number, from 1; 0: no permits
  TimeMs kept = 0;      // the job has ended, and --min-hold keeps the lock until then

  [[nodiscard]] bool is_kept(TimeMs now) const { return kept > now; }
  bool operator==(const Hold&) const = default;
};

/// One waiter for the lock.
struct Wait {
  Token token;
  Mode mode;
  std::uint64_t ticket;  // the position in the queue: µs since 1970, unique
  TimeMs believed;       // counts as alive until then

  bool operator==(const Wait&) const = default;
};

/// The lock is free, and until then only the first waiter, which was woken, may take it.
struct Reservation {
  Token token;
  Mode mode;
  TimeMs ends;

  bool operator==(const Reservation&) const = default;
};

/// A message that must not be lost: the end of a hold or of a wait.
struct Letter {
  std::string to;  // a token, or the address for a last word
  std::string text;
  TimeMs ends;  // when it expires unread

  bool operator==(const Letter&) const = default;
};

/// A recorded run. Without an end it still runs or was lost, which the holders show.
struct RememberedRun {
  struct End {
    TimeMs at;
    RunOutcome outcome;
    std::string why;

    bool operator==(const End&) const = default;
  };

  Token token;
  Fence fence;
  TimeMs granted;
  Millis waited{};
  std::string slot{};    // empty: none
  unsigned attempt = 0;  // the number of the run for its slot, from 1
  std::string reason{};
  std::optional<End> end{};

  bool operator==(const RememberedRun&) const = default;
};

struct RememberedSlot {
  std::string id;
  SlotState state;
  TimeMs ends;

  bool operator==(const RememberedSlot&) const = default;
};

struct LockState {
  Fence last_fence = 0;
  std::optional<Token> last_token{};  // the token it was issued to; nothing: no fence is recorded
  TimeMs fence_ends = 0;

  Mode mode{};                  // the mode of the holders, if any
  std::vector<Hold> holders{};  // in the order of their grants
  std::optional<Reservation> reservation{};
  std::vector<Wait> queue{};  // in the order of their tickets
  std::vector<Letter> letters{};

  std::vector<RememberedRun> runs{};  // newest first
  TimeMs runs_end = 0;
  std::vector<RememberedSlot> slots{};

  /// Whether several may hold it, and at least one does.
  [[nodiscard]] bool is_several() const {
    return !holders.empty() && mode.kind != Mode::Kind::exclusive;
  }
  [[nodiscard]] bool is_free() const { return holders.empty() && !reservation; }
  bool operator==(const LockState&) const = default;
};

}  // namespace store::rules
