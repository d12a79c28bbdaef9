// Who has one lock and who waits for it: a directory of named pipes, one for each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "os/ipc.hpp"
#include "store/local/directory.hpp"
#include "store/local/entry.hpp"
#include "store/local/roster.hpp"
#include "store/local/seat_files.hpp"
#include "store/lock_store.hpp"

namespace store::local {

/// What is told; the last two are followed by the reason.
namespace message {
inline constexpr const char* look = "look";
inline constexpr const char* stop = "stop ";
inline constexpr const char* lost = "lost ";
}  // namespace message

/// The seat of this process. While it exists, we are in the ledger.
struct Seat {
  std::uint64_t number;
  os::NamedPipe pipe;
};

/// One lock's ledger, locked (flock(2) on its file) until this is destroyed: an instant, in which
/// nobody is waited for. Everything in it is right at any moment at which its process may die:
/// whoever's pipe has no owner is not there.
class Ledger {
 public:
  /// A ledger that does not exist and is not to be made is an empty one, not a fault.
  static std::variant<Ledger, Fault> open(const LocalDirectory& directory, const LockName& name,
                                          os::LockedFile::Missing missing, const CallLimit& limit);

  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = delete;
  ~Ledger();

  [[nodiscard]] Roster& roster() { return roster_; }
  [[nodiscard]] std::optional<Fence> last_fence() const;
  /// Whether the one in this seat may hold now: room, and nobody before it.
  bool may_hold(std::uint64_t seat, Mode mode);

  /// A seat at the end of the queue.
  Seat take_seat(const Token& token, const Mode& mode);
  /// Makes a waiter a holder.
  Fence grant(std::uint64_t seat);
  /// It stays a holder until then, with or without its process.
  os::Result<os::Done> keep(std::uint64_t seat, WallTime until);

  void tell(std::uint64_t seat, const std::string& line) const;
  /// Has the first waiter look again, once the ledger is open to others: or it would come to a
  /// closed one. Should this process die in between, the end of its pipe says as much.
  void wake_first();
  /// The same, if it may hold now.
  void wake_next();
  /// How many one may watch at a time: nobody is left without descriptors to work with.
  static std::size_t most_watched();
  /// Hangs up when that process is gone; nothing if it is.
  [[nodiscard]] os::Fd watch(std::uint64_t seat) const;
  [[nodiscard]] bool lives(std::uint64_t seat) const;

 private:
  Ledger(bool remembers, SeatFiles files, std::unique_ptr<os::LockedFile> file);
  os::Result<os::Done> read();
  [[nodiscard]] const SeatFiles& files() const { return roster_.files(); }
  void write_numbers() const;

  bool remembers_;
  Roster roster_;
  std::unique_ptr<os::LockedFile> file_;  // null once moved from, and where there is no ledger
  Fence last_fence_ = 0;
  std::uint64_t last_seat_ = 0;
  std::optional<std::uint64_t> woken_;
};

}  // namespace store::local
