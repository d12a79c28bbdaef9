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
  /// The same for some of the locks in `directory`. A process that makes a new lock calls this, so
  /// that their number stays bounded.
  static void forget_some(const LocalDirectory& directory);
  /// Whether nobody has used the lock before, as far as anything tells.
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// Those that leave no room to others.
  std::vector<QueueEntry> holders();
  /// A waiter that has left unread for long what was posted to it was stopped, or hangs: others
  /// pass it.
  [[nodiscard]] bool answers(const QueueEntry& entry) const;
  /// The first waiter with that ticket or a later one; null if there is none.
  const QueueEntry* first_that_answers(std::uint64_t from = 0);

  /// An entry at the end of the queue.
  os::Result<OwnEntry> enqueue(const Token& token, const Mode& mode, const std::string& slot);
  /// Makes a waiter a holder, with that fence and the number of its permit.
  os::Result<os::Done> grant(std::uint64_t ticket, Fence fence, unsigned permit);
  /// It stays a holder until then, with or without its process.
  os::Result<os::Done> keep_until(std::uint64_t ticket, WallTime until);

  bool post(std::uint64_t ticket, const std::string& line) const;
  /// Has a waiter look again, once the directory is unlocked: before, it would find it locked. If
  /// this process dies in between, the end of its pipe says as much.
  void wake(std::uint64_t ticket) { woken_ = ticket; }
  [[nodiscard]] bool has_woken() const { return woken_.has_value(); }
  /// Whether this is a gate, whose holders also must answer.
  [[nodiscard]] bool is_gate() const { return is_gate_; }
  /// Writes to the holders; lives() then says whether they read it.
  void ask_holders();
  /// After which nobody waits for an answer.
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
