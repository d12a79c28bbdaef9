// All that a server knows of one lock, as a value: who holds it, who waits, what was said to whom,
// and what is remembered. Times are ms since 1970 by the server's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/claim.hpp"
#include "store/rules/slot.hpp"

namespace store::rules {

using TimeMs = std::int64_t;

/// One of those who hold the lock.
struct Hold {
  Token token;
  Fence fence;
  TimeMs ends;          // the lease
  unsigned permit = 0;  // which of several, from 1; 0: none
  TimeMs kept = 0;      // until then: its job has ended, and --min-hold keeps the lock

  [[nodiscard]] bool is_kept(TimeMs now) const { return kept > now; }
  bool operator==(const Hold&) const = default;
};

/// One of those who wait for it.
struct Wait {
  Token token;
  Mode mode;
  std::uint64_t ticket;  // the place in the queue: µs since 1970, no two have the same
  TimeMs believed;       // to be alive, until then

  bool operator==(const Wait&) const = default;
};

/// The lock is free, and so long nobody but the first waiter, who was woken, may take it.
struct Reservation {
  Token token;
  Mode mode;
  TimeMs ends;

  bool operator==(const Reservation&) const = default;
};

/// A word that must not be lost: the end of a hold or of a wait.
struct Letter {
  std::string to;  // a token, or the id of who waits for a last word
  std::string text;
  TimeMs ends;  // nobody has read it by then

  bool operator==(const Letter&) const = default;
};

/// A run that is remembered. One without an end goes on, or was lost: who holds the lock tells.
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
  std::optional<Token> last_token{};  // which it was given to; nothing: no fence is remembered
  TimeMs fence_ends = 0;

  Mode mode{};                  // in which it is held, where it is
  std::vector<Hold> holders{};  // in the order of their grants
  std::optional<Reservation> reservation{};
  std::vector<Wait> queue{};  // in the order of their tickets
  std::vector<Letter> letters{};

  std::vector<RememberedRun> runs{};  // the newest first
  TimeMs runs_end = 0;
  std::vector<RememberedSlot> slots{};

  /// Several may hold it, and somebody does.
  [[nodiscard]] bool is_several() const {
    return !holders.empty() && mode.kind != Mode::Kind::exclusive;
  }
  [[nodiscard]] bool is_free() const { return holders.empty() && !reservation; }
  bool operator==(const LockState&) const = default;
};

}  // namespace store::rules
