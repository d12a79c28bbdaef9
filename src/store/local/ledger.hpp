// Who has one lock and who waits for it: a directory of named pipes, one for each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "os/file_lock.hpp"
#include "os/named_pipe.hpp"
#include "store/local/directory.hpp"
#include "store/local/entry.hpp"
#include "store/lock_store.hpp"

namespace store::local {

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
                                          os::LockedFile::Missing missing,
                                          const Patience& patience);

  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = delete;
  ~Ledger();

  /// In the order of arrival; what dead processes left is taken away.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(const Token& token) const;
  /// The first in the queue, if there is one.
  [[nodiscard]] const Entry* first_waiter() const;
  [[nodiscard]] std::optional<Fence> last_fence() const;
  /// Whether `entry` (or one that would come as the last) may hold now: room, and nobody before it.
  [[nodiscard]] bool may_hold(const Entry& entry) const;

  /// A seat at the end of the queue.
  Seat take_seat(const Token& token, const Mode& mode);
  /// Makes a waiter a holder.
  Fence grant(std::uint64_t seat);
  void remove(std::uint64_t seat);
  /// It stays a holder until then, with or without its process.
  void keep(std::uint64_t seat, WallTime until);

  void tell(std::uint64_t seat, const std::string& line) const;
  /// Tells the first waiter, if it may hold now.
  void wake_next() const;
  /// Hangs up when that process is gone; nothing if it is.
  [[nodiscard]] os::Fd watch(std::uint64_t seat) const;

 private:
  Ledger(const LocalDirectory& directory, std::string place, std::optional<os::LockedFile> file);
  [[nodiscard]] std::string path_of(std::uint64_t seat, const char* suffix = "") const;
  void read();
  std::optional<Entry> read(std::uint64_t seat) const;
  void write_numbers() const;

  bool remembers_;
  std::string place_;
  std::unique_ptr<os::LockedFile> file_;  // null once moved from, and where there is no ledger
  Fence last_fence_ = 0;
  std::uint64_t last_seat_ = 0;
  std::vector<Entry> entries_;
};

/// What is told; the last two are followed by the reason.
namespace message {
inline constexpr const char* look = "look";
inline constexpr const char* stop = "stop ";
inline constexpr const char* lost = "lost ";
}  // namespace message

}  // namespace store::local
