// The queue of one lock on the ensemble: reading it, standing in it, and what the run that it leads
// to leaves behind.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "store/lock_admin.hpp"
#include "store/zookeeper/client.hpp"
#include "store/zookeeper/memory.hpp"
#include "store/zookeeper/queue_order.hpp"

namespace store::zookeeper {

/// The queue that these nodes are; a Fault if their order cannot be told.
Result<LockQueue> ordered(const Children& children);
/// The queue below the lock's node `lock`; empty if that node is not there.
Result<LockQueue> read_queue(Session& session, const std::string& lock, const CallLimit& limit);
/// The holder whose node this is, one of so many.
Holder holder_of(const Node& node, std::size_t holders);
/// The first holder; nothing if there is none, or if it cannot be read.
std::optional<Holder> first_holder(Session& session, const std::string& lock,
                                   const LockQueue& queue, const CallLimit& limit);

/// What a record of a memory is made from.
Record record_of(const Node& node);

/// All holders and waiters, and what is remembered: in a list of those in use only of one that is.
/// `server_ms` tells the servers' time.
Result<LockReport> report_on(Session& session, const std::string& lock, const LockName& name,
                             Listed which, const std::function<std::int64_t()>& server_ms,
                             const CallLimit& limit);

/// Where this process stands, and what it has written of itself.
struct Position {
  std::string lock{};          // the lock's node
  std::string node{};          // ours below it; empty while there is none
  std::optional<Stat> made{};  // of that one, once it is known
  std::string predecessor{};   // the one we wait for; empty if there is nothing to wait for
  bool is_next = false;        // nobody else is before us: when it goes, the lock is ours
  bool is_ours = false;        // it has gone

  std::int64_t change = 0;  // the last one that we saw below the lock's node
  std::string run{};        // the node of our run; empty while there is none for certain
  std::string run_text{};
  bool cannot_remember = false;  // we may not write the memory
  Asked<Children> runs{};        // what was remembered when we came; answered by and by

  std::string slot{};             // the node of our slot; empty if we have none
  SlotRecord slot_record{};       // as we saw or wrote it last
  int slot_version = -1;          // of that; -1: there was no such node
  std::int64_t slot_ms = 0;       // when that was written
  bool slot_is_done = false;      // heard while we waited
  bool grant_is_unheard = false;  // we wrote one, and heard nothing
  Asked<Children> slots{};

  /// The servers' time when our node was made, or else ours now.
  [[nodiscard]] std::int64_t server_ms() const;
  void note_slot(const std::optional<Node>& seen);
};

// A lock's node goes by itself when nothing is below it: it may be gone again when we come. And a
// slot is written by whoever had the lock before.
inline constexpr int most_tries = 4;
/// After so many.
Fault restless();

Result<base::Done> read_slot(Session& session, Position& position, const CallLimit& limit);

/// Enters the queue, unless the token is in it already, and looks who is before it; takes the lock
/// if that is nobody, and writes down that it did. The lease counts from `asked_at`.
Attempt enter(Session& session, const Claim& claim, Position& position, Moment asked_at,
              const CallLimit& limit);

/// Reads the slot that we wait for, and watches it. Whether it is done.
Result<bool> look_at_slot(Session& session, Position& position, const CallLimit& limit);

/// Leaves the queue, gives back what we have, and writes down how our run ended, if it says so;
/// without that there never was one. NotOurs: our node had gone.
Release leave(Session& session, Position& position, const Token& token, const Parting& parting,
              const CallLimit& limit);

}  // namespace store::zookeeper
