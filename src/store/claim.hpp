// The requests of a client: the claim that acquires a lock, and the parting that releases it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/lease.hpp"
#include "store/runs.hpp"

namespace store {

/// Exclusive, shared with other readers, or one of at most `permits` holders. All users of a key at
/// one time must agree: readers and writers (exclusive) go together, permits only with the same
/// number and the same names in the same order.
struct Mode {
  enum class Kind { exclusive, shared, permits };
  static constexpr unsigned most_permits = 1'000'000;

  Kind kind = Kind::exclusive;
  unsigned permits = 1;              // at least 2 for permits, at least 1 if they have names
  std::vector<std::string> names{};  // of all permits; empty: they have no names

  bool operator==(const Mode&) const = default;
  /// The name of the permit with that number; empty if it has none.
  [[nodiscard]] std::string name_of(unsigned permit) const {
    return permit > 0 && permit <= names.size() ? names[permit - 1] : std::string{};
  }
};

enum class OnBusy { give_up, queue };

/// The request of a quorum's client to each node, so that all nodes decide alike.
struct Bid {
  /// Its position in the queue, µs since 1970.
  struct Ticket {
    enum class From {
      client,  // from its own clock; no node has confirmed it
      node     // confirmed or chosen by a node
    } from;
    std::uint64_t number;
  };
  std::optional<Ticket> ticket{};  // nothing: the node chooses it
  // The fence to issue, µs by the client's clock, if it exceeds all earlier ones.
  std::optional<Fence> fence{};
};

/// A request for the lock `name` for `ttl`, as the holder `token`. The token is also our identity
/// in the queue: claiming again with the same one never takes two positions or two locks.
struct Claim {
  LockName name;
  Token token;
  Ttl ttl;
  OnBusy on_busy;
  Mode mode{};
  std::optional<unsigned> max_waiters{};  // if that many wait already: busy
  unsigned sync_replicas = 0;             // that must confirm a grant for it to count
  bool token_stays = false;               // it also identifies the holder of other locks
  std::string supersede{};     // unless empty: stop holders and dismiss waiters, with this text
  bool spare_holders = false;  // dismiss only waiters
  Millis history{};            // how long the run is recorded after its end; 0: not at all
  Millis waited{};             // so far, for the record
  std::optional<Slot> slot{};  // needs a history
  std::string reason{};        // why the lock is wanted, for people; needs one as well
  std::optional<Bid> bid{};    // only for a node of a quorum (quorum_node.hpp)
  bool outlives = false;       // its process: others refresh and release it
};

/// The beginning of `supersede`, which distinguishes it from other requests to stop.
inline constexpr std::string_view superseded_by = "superseded by ";

/// How to release a lock.
struct Parting {
  Millis min_hold{};             // the lock stays taken for this long after its grant
  Millis history{};              // as in the claim
  std::optional<RunEnd> end{};   // for the record; nothing: there was no run
  std::optional<Fence> fence{};  // of the grant; the server may have lost it or know another one
  /// The effect of the end on a slot: done, done unless further runs may fail, or still open.
  enum class SlotEnd { done, failed, open };
  struct OfSlot {
    Slot slot;
    unsigned attempt;   // as in the lease
    unsigned failures;  // before this run
    SlotEnd end;
  };
  std::optional<OfSlot> slot{};
};

/// Releases a grant that never became a run.
inline Parting no_run(const Claim& claim) {
  Parting parting;
  parting.history = claim.history;
  if (claim.slot) parting.slot = {*claim.slot, 0, 0, Parting::SlotEnd::open};
  return parting;
}

}  // namespace store
