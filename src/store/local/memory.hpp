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
  enum class State { running, open, done };

  std::string id;
  WallTime until;  // then it is forgotten
  State state;
  unsigned attempts;    // runs that it has had
  unsigned failures;    // of these
  std::string token{};  // of the run that goes on, or that has done it; the rest is of the latter
  RunOutcome outcome{RunOutcome::Kind::running};
  WallTime ended = 0;
  Fence fence = 0;

  [[nodiscard]] bool is_done() const { return state == State::done; }
  bool operator==(const SlotRecord&) const = default;
};
std::string text_of(const SlotRecord& slot);
std::optional<SlotRecord> slot_in(std::string_view text);

// ---- the rules -------------------------------------------------------------------------------

/// `token` has the lock now for the slot `id`: if another one ran for it, that one was lost.
SlotRecord with_run(const std::optional<SlotRecord>& before, const std::string& id,
                    const std::string& token, WallTime until);
/// That run was none after all. Nothing: nor was any other.
std::optional<SlotRecord> without_run(const std::optional<SlotRecord>& before,
                                      const std::string& token);
/// That run has ended. A slot that somebody else has taken or done meanwhile stays as it is.
struct EndOfRun {
  std::string token;
  Fence fence;
  RunOutcome outcome;
  WallTime now;
  WallTime until;
};
SlotRecord after_run(const std::optional<SlotRecord>& before, const Parting::OfSlot& what,
                     const EndOfRun& end);

// ---- the files -------------------------------------------------------------------------------

/// To be used with the lock's directory locked.
class Memory {
 public:
  /// In the `directory` of the lock.
  explicit Memory(os::Directory directory) : directory_{std::move(directory)} {}

  /// The newest first; at most 50. Those whose token is one of `holders` go on. They are over, as
  /// Memory::runs_are_over() says, unless one of them goes on.
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

  [[nodiscard]] os::Result<std::optional<SlotRecord>> slot(const std::string& id) const;
  [[nodiscard]] os::Result<os::Done> write(const SlotRecord& slot) const;
  void forget_slot(const std::string& id) const;

  /// Whether all of it may go, if nobody uses the lock.
  [[nodiscard]] bool is_over() const;
  void remove() const;

 private:
  os::Directory directory_;
};

}  // namespace store::local
