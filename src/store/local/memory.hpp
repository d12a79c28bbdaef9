// The records of a lock in its directory: its last runs, and the slots that are done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/directory.hpp"
#include "store/local/queue_files.hpp"
#include "store/rules/lock_state.hpp"

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

/// A run, its place in the file, and how long the runs are kept after it.
struct RunRecord {
  std::size_t index;
  Millis history;
  std::optional<rules::RememberedRun> run;  // nullopt: not read
};
std::string text_of(const rules::RememberedSlot& slot);
std::optional<rules::RememberedSlot> slot_in(std::string_view text);

// ---- the files -------------------------------------------------------------------------------

/// To be used with the lock's directory locked.
class Memory {
 public:
  /// In the `directory` of the lock.
  explicit Memory(os::Directory directory) : directory_{std::move(directory)} {}

  /// All runs, the newest first. Reads the `newest` ones and those of the holders. None expires
  /// while the run of a holder goes on.
  [[nodiscard]] std::vector<RunRecord> runs(const std::vector<rules::Hold>& holders,
                                            std::size_t newest) const;
  /// Writes the changes: a run has ended, never was, or has begun. A full disk is not reported: it
  /// must not keep anybody from the lock.
  void write_runs(const std::vector<RunRecord>& found, const rules::LockState& before,
                  const rules::LockState& after) const;
  /// So that a run is not forgotten while it goes on: the time of the last sign of it counts.
  void touch_runs() const;

  /// Nothing: it has had no run, or that is forgotten.
  [[nodiscard]] os::Result<std::optional<rules::RememberedSlot>> slot(const std::string& id) const;
  [[nodiscard]] os::Result<os::Done> write_slot(const rules::RememberedSlot& slot) const;
  [[nodiscard]] os::Result<os::Done> erase_slot(const std::string& id) const;

  /// Whether all of it may go, if nobody uses the lock.
  [[nodiscard]] bool is_over() const;
  void remove() const;

 private:
  os::Directory directory_;
};

}  // namespace store::local
