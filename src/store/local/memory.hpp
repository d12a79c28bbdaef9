// What is remembered of a lock in its directory: its last runs, and which slots are done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/directory.hpp"
#include "store/local/queue_files.hpp"
#include "store/lock_store.hpp"
#include "store/rules/slot.hpp"

namespace store::local {

// ---- the texts -------------------------------------------------------------------------------

/// Each run and each slot is a record of this length, which is overwritten in place: its room on
/// the disk is there from the grant on, so that a full disk does not make a run look lost that has
/// ended.
inline constexpr std::size_t record_length = 1024;
/// A line of text (what does not fit of it is cut off) with its checksum before it.
std::string record_of(std::string_view text);
/// Nothing for a record that was not written to its end.
std::optional<std::string_view> text_in(std::string_view record);

/// A slot that has had a run.
struct SlotRecord {
  std::string id;
  WallTime until;  // then it is forgotten
  rules::SlotState state;

  bool operator==(const SlotRecord&) const = default;
};
std::string text_of(const SlotRecord& slot);
std::optional<SlotRecord> slot_in(std::string_view text);

// ---- the files -------------------------------------------------------------------------------

/// To be used with the lock's directory locked.
class Memory {
 public:
  /// In the `directory` of the lock.
  explicit Memory(os::Directory directory) : directory_{std::move(directory)} {}

  /// The newest first; at most rules::remembered_runs. Those whose token is one of `holders` go on.
  /// They are over, as Memory::runs_are_over() says, unless one of them goes on.
  [[nodiscard]] std::vector<Run> runs(const std::vector<std::string>& holders) const;
  /// No room for it is no reason to refuse a lock. `holders`: others, that run already.
  void begin_run(const Claim& claim, Fence fence, unsigned attempt,
                 const std::vector<std::string>& holders) const;
  /// `history` of 0: as long as was said at its grant.
  void end_run(const Token& token, const RunEnd& end, Millis history) const;
  /// It never was.
  void erase_run(const Token& token) const;
  /// So that a run is not forgotten while it goes on: the time of the last sign of it counts.
  void touch_runs() const;

  /// What a slot is, as far as it is to be remembered.
  [[nodiscard]] os::Result<rules::SlotState> slot(const std::string& id) const;
  /// It is forgotten `history` later, or after a day if it goes on longer. One that is none is
  /// forgotten now.
  [[nodiscard]] os::Result<os::Done> write_slot(const std::string& id,
                                                const rules::SlotState& state,
                                                Millis history) const;

  /// Whether all of it may go, if nobody uses the lock.
  [[nodiscard]] bool is_over() const;
  void remove() const;

 private:
  os::Directory directory_;
};

}  // namespace store::local
