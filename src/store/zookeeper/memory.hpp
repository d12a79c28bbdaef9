// What the ensemble remembers of a lock: a node for each run and one for each slot, below the
// lock's own node; what they are called, and what stands in them. No socket. Times are those that
// ZooKeeper keeps of a node: ms since 1970 by the clock of the servers' leader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/rules/slot.hpp"

namespace store::zookeeper {

/// Slots of a lock beyond which a run removes some that are over.
inline constexpr std::size_t tolerated_slots = 16;

/// The nodes below which they are, themselves below the lock's node `lock`.
std::string runs_of(const std::string& lock);
std::string slots_of(const std::string& lock);

/// The node of a run. `change` is the last one that its claim saw below the lock's node, so that
/// the names of runs are in the order of their claims.
std::string run_node_of(const std::string& lock, std::int64_t change, const Token& token);
/// Whether a node with that name is the run of the token, as far as a name tells.
bool is_run_of(std::string_view node, const Token& token);
/// The node of a slot.
std::string slot_node_of(const std::string& lock, const Slot& slot);

/// A node, as ZooKeeper has it.
struct Record {
  std::string text;
  std::int64_t created_by = 0;  // the transaction
  std::int64_t created_ms = 0;
  std::int64_t written_ms = 0;
};

// ---- runs: created by the grant, written once more by the release
// --------------------------------

/// `fence` is 0 where the same transaction makes the node of the run and that of its lock.
std::string text_of_run(Fence fence, const Claim& claim, unsigned attempt);
/// What the release makes of it.
std::string text_of_ended(const std::string& text, const RunEnd& end);
/// The same for a node that is made anew with the end, so that its own times and transaction are
/// not those of the grant: `came_ms` is when the claim came, in ms since 1970 by the servers'
/// clock.
std::string text_of_ended_anew(const std::string& text, const RunEnd& end, Fence fence,
                               std::int64_t came_ms);

/// The runs that the records tell of, the newest first, without those that are older than their
/// --history. A run without an end goes on if its token is one of the `holders`, and is lost unless
/// it is one of the `waiters`, which was not granted the lock after all.
std::vector<Run> runs_in(std::vector<Record> records, const std::vector<Token>& holders,
                         const std::vector<Token>& waiters, std::int64_t now_ms);
/// Whether an ended run is older than its --history.
bool is_forgotten(const Record& run, std::int64_t now_ms);

// ---- slots: written by whoever holds the lock, and by nobody else
// --------------------------------

/// A slot, and how long it is remembered. Its end is the time at which its node was written.
struct SlotRecord {
  rules::SlotState state{};
  Millis history{};
};

std::string text_of_slot(const SlotRecord& slot);
/// none for a text that no rlock wrote.
SlotRecord slot_in(std::string_view text);
/// Whether the slot, last written then, is not to be remembered any longer.
bool is_forgotten(const SlotRecord& slot, std::int64_t written_ms, std::int64_t now_ms);

}  // namespace store::zookeeper
