// An operator's requests to a server: list locks, show their holders, force a release.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"

namespace store {

struct Waiter {
  Token token;
  Mode mode;
  std::optional<Millis> waiting_for;  // nothing: the server's clock was set back
};

/// One holder of a lock.
struct HolderReport {
  Holder holder;
  std::optional<Fence> fence;
  unsigned permit = 0;  // its number, from 1; 0: no permits, or it took no number
};

/// One lock as the server saw it at one instant.
struct LockReport {
  LockName name;
  std::optional<Mode> mode;           // nothing: free, or held by a foreign client
  std::vector<HolderReport> holders;  // longest hold first; none: free
  std::optional<Fence> fence;         // of the last grant, if still recorded
  std::vector<Waiter> waiters;        // in queue order
  std::vector<Run> runs{};            // recorded ones, newest first; at most rules::remembered_runs
};

/// Approximate size in our memory.
std::size_t size_of(const LockReport& report);
/// The limit of a list's memory: four hundred thousand locks with a run each, twenty thousand with
/// fifty.
inline constexpr std::size_t longest_list = std::size_t{256} << 20;
inline Fault too_long_a_list() {
  return {Fault::Kind::unusable, "a list of locks of more than 256 MiB; a PATTERN asks for fewer"};
}
/// The limit of a list's time, as long as each answer comes in its own.
inline constexpr Millis slowest_list{300'000};
inline Fault too_slow_a_list() {
  return {Fault::Kind::silent, "a list that takes longer than 5m; a PATTERN asks for fewer"};
}

/// The locks that a list contains.
enum class Listed {
  in_use,      // held or waited for, each with its last run
  remembered,  // with a recorded run, each with all of these
  known,       // any of both, each with all of its recorded runs
};

/// A lock that a list lacks: the server has nonsense of it, or it is another user's.
struct UnreadLock {
  LockName name;
  Fault fault;

  /// "the lock 'k': why".
  [[nodiscard]] std::string why() const;
};

/// The locks that match a pattern.
struct Listing {
  std::vector<LockReport> locks;
  std::optional<Fault> missing{};  // why locks that live elsewhere are missing
  std::vector<UnreadLock> unread{};
  std::string doubt{};   // unless empty: which locks may be missing, and why
  std::size_t size = 0;  // of the locks that were added, approximately

  /// So many locks of which a server has nonsense may be missing; more are an error.
  static constexpr std::size_t most_unread = 100;

  /// If such a list contains the lock. Returns why the list ends here, or nothing.
  std::optional<Fault> add(LockReport report, Listed which);
  /// That lock could not be read. Returns why the list ends here, or nothing.
  std::optional<Fault> add_unread(LockName name, Fault fault);
  /// Why it is not the whole list, or nothing.
  [[nodiscard]] std::optional<Fault> gap() const;
};

struct Removed {};
/// The lock is free or has another holder: nothing was changed.
struct Changed {
  std::optional<Holder> holder;
};
using Removal = std::variant<Removed, Changed>;

/// The reaction of a holder that was asked to stop.
enum class LastWord { stopped, silence };

/// One thread at a time; each call ends within its limit.
class LockAdmin {
 public:
  LockAdmin() = default;
  LockAdmin(const LockAdmin&) = delete;
  LockAdmin& operator=(const LockAdmin&) = delete;
  virtual ~LockAdmin() = default;

  virtual Result<LockReport> inspect(const LockName& name, const CallLimit& limit) = 0;
  /// Sorted by name; `pattern` is a glob (* ? [a-z] \). The list may take long, but no answer
  /// longer than `each_answer`. An incomplete list says so.
  virtual Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                               const CallLimit& limit) = 0;
  /// Removes those of the holders `shown` that still hold the lock, notifies them (naming `by`, the
  /// user) and passes the lock to the queue.
  virtual Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                        const std::string& by, const CallLimit& limit) = 0;
  /// Asks the holders among these to stop their jobs and release the lock, and the waiters, if this
  /// kind of store can reach them, to leave the queue; `why` is for them. Returns how many there
  /// were to ask.
  virtual Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                          const std::string& why, const CallLimit& limit) = 0;
  /// After either call: waits for one of them to confirm that its job has stopped.
  virtual LastWord await_last_word(const LockName& name, const CallLimit& limit) = 0;
};

}  // namespace store
