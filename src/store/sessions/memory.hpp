// The memory of a lock: a node for each run and one for each slot, their names and their texts. No
// socket. Times are those of nodes (session.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/rules/slot.hpp"
#include "store/sessions/session.hpp"

namespace store::sessions {

/// Slots of a lock beyond which a run removes some that are over.
inline constexpr std::size_t tolerated_slots = 16;

/// The node of a run below the node `runs`. `change` is the last one that its claim saw in the
/// queue, so that the names of runs are in the order of their claims.
std::string run_node_of(const std::string& runs, std::uint64_t change, const Token& token);
/// Whether a node with that name is the run of the token, as far as a name tells.
bool is_run_of(std::string_view node, const Token& token);
/// The node of a slot below the node `slots`.
std::string slot_node_of(const std::string& slots, const Slot& slot);

// ---- runs: created by the grant, written once more by the release

/// `fence` is 0 where the same transaction makes the node of the run and that of its lock.
std::string text_of_run(Fence fence, const Claim& claim, unsigned attempt);
/// The same text with the end of the run.
std::string text_of_ended(const std::string& text, const RunEnd& end);
/// The same for a node that is made anew with the end, so that its own times and transaction are
/// not those of the grant: `came_ms` is when the claim came, in ms since 1970 by the servers'
/// clock.
std::string text_of_ended_anew(const std::string& text, const RunEnd& end, Fence fence,
                               std::int64_t came_ms);

/// The runs that the records tell of, the newest first, without those that are older than their
/// --history. A run without an end goes on if its token is one of the `holders`, and is lost unless
/// it is one of the `waiters`, which was not granted the lock after all.
std::vector<Run> runs_in(std::vector<Node> records, const std::vector<Token>& holders,
                         const std::vector<Token>& waiters, std::int64_t now_ms);
/// The fence of the grant that made the record; 0 for a text that no rlock wrote.
Fence fence_of_run(const Node& run);
/// Whether an ended run is older than its --history.
bool is_forgotten(const Node& run, std::int64_t now_ms);

// ---- slots: only the holder of the lock writes them

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

}  // namespace store::sessions
