// The files of one lock's directory: for each one in its queue a named pipe, who it is, and what it
// was granted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/directory.hpp"
#include "os/ipc.hpp"
#include "store/lock_store.hpp"
#include "store/names.hpp"

namespace store::local {

/// A time that survives its process, for people and for --min-hold: ms since 1970, the host's
/// clock.
using WallTime = std::int64_t;
WallTime wall_now();
/// From a file that anybody may have written: no later than the year 9999.
WallTime wall_time(std::uint64_t number);

/// Of a grant whose file cannot be read or is damaged.
inline constexpr Fence unknown_fence = 0;

/// One that holds a lock or waits for it.
struct QueueEntry {
  std::uint64_t ticket;  // in the order of arrival
  Token token;
  Mode mode;
  WallTime since;                      // it waits, or holds
  std::optional<Fence> fence;          // of a holder
  std::optional<WallTime> kept_until;  // of a holder whose process may be gone
  std::string slot{};                  // that it wants the lock for; empty: none
  unsigned permit = 0;                 // of a holder: which of several; 0: none

  [[nodiscard]] bool holds() const { return fence.has_value(); }
};

// ---- the texts in the files ------------------------------------------------------------------

/// Numbers with blanks between them; nothing at all if anything else is there.
std::vector<std::uint64_t> numbers_in(std::string_view text);
/// With leading zeros, so that names sort and numbers replace each other whole.
std::string twenty_digits(std::uint64_t number);
/// The description of an entry: its mode, its arrival, the names of its permits if they have some,
/// its token, and its slot.
std::string text_of(const QueueEntry& entry);
/// An entry without ticket and grant; nothing if the text is none.
std::optional<QueueEntry> entry_in(std::string_view text);

// ---- the files -------------------------------------------------------------------------------

/// The facts about an entry in the names of the directory's files. Its process may be gone.
struct TicketNames {
  std::uint64_t ticket;
  bool granted = false;  // it holds

  bool operator==(const TicketNames&) const = default;
};
/// "00000000000000000012.grant" tells of ticket 12, which holds; nothing for a file that is none of
/// ours.
std::optional<TicketNames> ticket_in(std::string_view file);
/// In the order of arrival, each ticket once.
void put_in_order(std::vector<TicketNames>& tickets);

/// To be used with the lock's directory locked.
class QueueFiles {
 public:
  explicit QueueFiles(os::Directory directory) : directory_{std::move(directory)} {}

  [[nodiscard]] const os::Directory& directory() const { return directory_; }
  /// In the order of arrival.
  [[nodiscard]] os::Result<std::vector<TicketNames>> list() const;
  /// The entry, if its process lives or the lock is kept for it. Of a live process whose files
  /// cannot be read (another user's), the worst is assumed.
  [[nodiscard]] std::optional<QueueEntry> read_live(const TicketNames& names) const;
  /// Makes its pipe, which this process owns: from now on the entry exists. On a full disk it does
  /// not, and nothing is left of it.
  [[nodiscard]] os::Result<os::NamedPipe> create(const QueueEntry& entry) const;
  /// Whether its name in the directory says that it holds.
  [[nodiscard]] bool is_granted(std::uint64_t ticket) const;
  /// Writes what the entry was granted.
  [[nodiscard]] os::Result<os::Done> write_grant(const QueueEntry& entry) const;
  void remove_grant(std::uint64_t ticket) const;
  void remove(std::uint64_t ticket) const;
  [[nodiscard]] os::PipeName pipe_of(std::uint64_t ticket) const;

 private:
  [[nodiscard]] std::optional<QueueEntry> read(std::uint64_t ticket) const;

  os::Directory directory_;
};

}  // namespace store::local
