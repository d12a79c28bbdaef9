// What operators ask of a server: who holds, what is there, take it away.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"

namespace store {

struct Waiter {
  Token token;
  Millis waiting_for;
};

/// One lock as the server saw it at one instant.
struct LockReport {
  LockName name;
  std::optional<Occupant> occupant;  // nothing: free
  std::optional<Fence> fence;        // of the last grant, if still remembered
  std::vector<Waiter> waiters;       // in queue order
};

struct Removed {};
/// Nobody holds it (any more), or somebody else does: nothing was changed.
struct Changed {
  std::optional<Occupant> occupant;
};
using Removal = std::variant<Removed, Changed, Fault>;

/// What the removed holder said.
enum class LastWord { stopped, silence };

/// One thread at a time; each call bounded by its patience.
class LockAdmin {
 public:
  LockAdmin() = default;
  LockAdmin(const LockAdmin&) = delete;
  LockAdmin& operator=(const LockAdmin&) = delete;
  virtual ~LockAdmin() = default;

  virtual std::variant<LockReport, Fault> inspect(const LockName& name,
                                                  const Patience& patience) = 0;
  /// Locks that are held or waited for, sorted by name; `pattern` is a glob (* ? [a-z] \).
  virtual std::variant<std::vector<LockReport>, Fault> list(const std::string& pattern,
                                                            const Patience& patience) = 0;
  /// Removes the holder `shown` if it still is the one, tells it (with `by`, who did it) and hands
  /// the lock to the queue.
  virtual Removal force_release(const LockName& name, const Token& shown, const std::string& by,
                                const Patience& patience) = 0;
  /// After Removed: waits for the holder's word that its job has stopped.
  virtual LastWord await_last_word(const LockName& name, const Patience& patience) = 0;
};

}  // namespace store
