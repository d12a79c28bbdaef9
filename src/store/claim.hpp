// What a client asks of a lock: the claim that takes it, and the parting that gives it back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/lease.hpp"
#include "store/runs.hpp"

namespace store {

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

enum class OnBusy { give_up, queue };

/// What the client of a quorum asks of each node, so that all nodes decide alike.
struct Bid {
  /// Its position in the queue, µs since 1970.
  struct Ticket {
    enum class From {
      client,  // by its clock; no node has given it that ticket yet
      node     // what a node made of that
    } from;
    std::uint64_t number;
  };
  std::optional<Ticket> ticket{};  // nothing: the node chooses it
  // The fence to give, µs by the client's clock, if it is greater than all earlier ones.
  std::optional<Fence> fence{};
};

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
  std::optional<Bid> bid{};    // only to a node of a quorum (quorum_node.hpp)
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

}  // namespace store
