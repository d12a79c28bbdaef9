// What operators ask of a server: who holds, what is there, take it away.
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
  std::optional<Millis> waiting_for;  // nothing: the server's clock has gone back
};

/// One of those who have a lock.
struct HolderReport {
  Holder holder;
  std::optional<Fence> fence;
  unsigned permit = 0;  // which of several, from 1; 0: there are none, or it took no number
};

/// One lock as the server saw it at one instant.
struct LockReport {
  LockName name;
  std::optional<Mode> mode;           // nothing: free, or a foreign client's
  std::vector<HolderReport> holders;  // the longest first; none: free
  std::optional<Fence> fence;         // of the last grant, if still remembered
  std::vector<Waiter> waiters;        // in queue order
  std::vector<Run> runs{};  // that are remembered, the newest first; at most rules::remembered_runs
};

/// What it takes of our memory, about.
inline std::size_t size_of(const LockReport& report) {
  std::size_t size = sizeof report;
  for (const auto& each : report.holders) size += sizeof each + each.holder.token.size();
  for (const auto& each : report.waiters) size += sizeof each + each.token.text().size();
  for (const auto& each : report.runs) size += sizeof each + each.token.text().size();
  return size;
}
/// What a list may take: a hundred thousand locks.
inline constexpr std::size_t longest_list = std::size_t{64} << 20;

/// Which locks a list has.
enum class Listed {
  in_use,      // those that are held or waited for, each with its last run
  remembered,  // those of which a run is remembered, with all of these
};

/// Whether a list of those has this one.
inline bool is_listed(const LockReport& report, Listed which) {
  if (which == Listed::remembered) return !report.runs.empty();
  return !report.holders.empty() || !report.waiters.empty();
}

/// The locks that a pattern matches.
struct Listing {
  std::vector<LockReport> locks;
  std::optional<Fault> missing{};  // locks that are elsewhere are not among them, and why
  std::string doubt{};             // unless empty: what may be missing, and why
};

struct Removed {};
/// Nobody holds it (any more), or somebody else does: nothing was changed.
struct Changed {
  std::optional<Holder> holder;
};
using Removal = std::variant<Removed, Changed>;

/// What became of a holder that was told.
enum class LastWord { stopped, silence };

/// One thread at a time; each call bounded by its limit.
class LockAdmin {
 public:
  LockAdmin() = default;
  LockAdmin(const LockAdmin&) = delete;
  LockAdmin& operator=(const LockAdmin&) = delete;
  virtual ~LockAdmin() = default;

  virtual Result<LockReport> inspect(const LockName& name, const CallLimit& limit) = 0;
  /// Sorted by name; `pattern` is a glob (* ? [a-z] \). The list may take long, but `each_answer`
  /// of it no longer than that. One that is not whole says so.
  virtual Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                               const CallLimit& limit) = 0;
  /// Removes those of the holders `shown` that still hold it, tells them (with `by`, who did it)
  /// and hands the lock to the queue.
  virtual Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                        const std::string& by, const CallLimit& limit) = 0;
  /// Asks the holders among these to stop their jobs and to give the lock back, and the waiters, if
  /// this kind of store can tell them, to wait no more; `why` is for them. Says how many of them
  /// were there to be asked.
  virtual Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                          const std::string& why, const CallLimit& limit) = 0;
  /// After either: waits for the word of one of them that its job has stopped.
  virtual LastWord await_last_word(const LockName& name, const CallLimit& limit) = 0;
};

}  // namespace store
