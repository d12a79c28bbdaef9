// The directory of one lock, locked for an instant: who holds the lock, who waits for it, and what
// is posted to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/ipc.hpp"
#include "store/local/directory.hpp"
#include "store/local/memory.hpp"
#include "store/local/queue.hpp"

namespace store::local {

/// The lines that are posted to a pipe; the last three are followed by the reason, and by the text
/// of the slot.
namespace message {
inline constexpr const char* look = "look";
inline constexpr const char* stop = "stop ";
inline constexpr const char* lost = "lost ";
inline constexpr const char* done = "done ";
}  // namespace message

/// "stop why" or "lost why"; nothing for anything else.
std::optional<Notice> notice_in(std::string_view line);

/// "done ..." with the text of a slot that is.
std::optional<SlotRecord> done_in(std::string_view line);

/// This process's own entry in a queue, which exists while the pipe is open.
struct OwnEntry {
  std::uint64_t ticket;
  os::NamedPipe pipe;
};

/// Locked (flock(2) on a file in it) until this is destroyed, in which time it waits for nobody. A
/// process may die at any moment: an entry whose pipe has no owner does not exist.
class LockDir {
 public:
  /// A directory that does not exist and is not to be made is an empty one, not a fault.
  static Result<LockDir> open(const LocalDirectory& directory, const LockName& name,
                              os::Missing missing, const CallLimit& limit);

  LockDir(LockDir&&) = default;
  LockDir& operator=(LockDir&&) = delete;
  ~LockDir();

  [[nodiscard]] const std::string& path() const { return files().directory().path(); }
  [[nodiscard]] Queue& queue() { return queue_; }
  [[nodiscard]] std::optional<Fence> last_fence() const;
  /// Null where nothing is remembered: in a sticky directory, where the key is the next user's once
  /// nobody is at it, and of a gate.
  [[nodiscard]] const Memory* memory() const { return memory_ ? &*memory_ : nullptr; }
  /// Takes all of it away when this is destroyed, if nobody has used the lock for so long that
  /// nothing of it is to be remembered.
  void forget_if_over();
  /// The same for some of the locks in `directory`. Whoever makes a new one does it, so that they
  /// do not become more and more.
  static void forget_some(const LocalDirectory& directory);
  /// Whether nobody has used the lock before, as far as anything tells.
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// Whether `ticket` may hold now: there is room, and no waiter that answers came before it.
  bool may_hold(std::uint64_t ticket, const Mode& mode);
  /// Somebody who uses the lock in a way that does not go together with `mode`. One entry speaks
  /// for all, as each was let in only if it went together with the others.
  std::optional<ModeConflict> conflict_with(const Mode& mode);

  /// An entry at the end of the queue.
  os::Result<OwnEntry> enqueue(const Claim& claim);
  /// Makes a waiter a holder: the entry has its fence then, and the number of its permit.
  os::Result<QueueEntry> grant(std::uint64_t ticket);
  /// It stays a holder until then, with or without its process.
  os::Result<os::Done> keep_until(std::uint64_t ticket, WallTime until);

  bool post(std::uint64_t ticket, const std::string& line) const;
  /// Sends everybody away who waits for a slot that is done.
  void dismiss(const SlotRecord& done);
  /// Has the first waiter that answers look again, once the directory is unlocked: before, it would
  /// find it locked. If this process dies in between, the end of its pipe says as much.
  void wake_first();
  /// The same, if that waiter may hold the lock now; returns whether it may.
  bool wake_next();
  /// Whether this is a gate, whose holders must answer, too.
  [[nodiscard]] bool is_gate() const { return is_gate_; }
  /// Writes to the holders; lives() then says whether they read it.
  void ask_holders();
  /// A waiter that has not read for so long what was posted to it was stopped, or hangs: others
  /// pass it.
  static constexpr Millis longest_silence{1'000};
  /// How many entries one process may watch at a time, so that it has descriptors left to work
  /// with.
  static std::size_t most_watched();
  /// A descriptor that hangs up when the entry's process is dead; an empty one if it is.
  [[nodiscard]] os::Fd watch(std::uint64_t ticket) const;
  [[nodiscard]] bool lives(std::uint64_t ticket) const;

 private:
  LockDir(const LocalDirectory& directory, bool remembers, QueueFiles files,
          std::unique_ptr<os::LockedFile> file);
  os::Result<os::Done> read();
  [[nodiscard]] bool answers(const QueueEntry& entry) const;
  /// Null if there is none.
  const QueueEntry* first_that_answers();
  /// Those that leave no room to others.
  std::vector<QueueEntry> holders();
  [[nodiscard]] const QueueFiles& files() const { return queue_.files(); }
  /// The last numbers, and which tickets there may be.
  os::Result<os::Done> write_ledger() const;

  bool is_gate_;
  bool remembers_;  // the last fence, when nobody is there
  std::optional<Memory> memory_;
  Queue queue_;
  std::unique_ptr<os::LockedFile> file_;  // null once moved from, and where there is no directory
  Fence last_fence_ = 0;
  std::uint64_t last_ticket_ = 0;
  bool is_new_ = true;
  std::optional<std::uint64_t> woken_;
};

}  // namespace store::local
