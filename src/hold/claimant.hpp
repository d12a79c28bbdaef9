// From wanting one lock to holding it, or to knowing why not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "hold/held.hpp"
#include "hold/upkeep.hpp"
#include "hold/waiting_line.hpp"
#include "os/signals.hpp"

namespace hold {

/// It is somebody else's.
struct GaveUp {
  enum class Why { busy, timed_out, crowded };  // crowded: too many wait already
  store::LockName name;
  std::optional<store::Holder> occupant;
  std::size_t others;  // waiting (before us, if we queued)
  Why why;
};
/// While we waited, somebody told us not to.
struct Dismissed {
  store::LockName name;
  std::string why;
};
/// Somebody uses the key in a way that does not go together with ours.
struct Disagreement {
  store::LockName name;
  store::ModeConflict mismatch;
};
/// A signal came that would have ended us; we are out of the queue.
struct Interrupted {
  int signal;
};
/// Why a lock was not had; nothing of the claim is left on a server that answers.
using NotAcquired = std::variant<GaveUp, Dismissed, Disagreement, Interrupted, store::Fault>;
/// One of the locks that we had before is not ours any more, or cannot be had with the token that
/// they share.
struct LostEarlier {
  std::string why;
};

/// Wants one lock, and meanwhile looks after those that the same run already holds. Main thread; no
/// other thread exists yet.
class Acquirer {
 public:
  struct Terms {
    base::Deadline wait_ends;
    base::Millis grace;  // of the validity this much must be left, or the job could not be stopped
  };
  using Outcome = std::variant<Held, LostEarlier, NotAcquired>;

  Acquirer(std::unique_ptr<store::LockStore> store, const store::Claim& claim, const Terms& terms,
           HeldLocks& earlier, os::Signals& signals);

  /// Once. Gives the store away inside Held. Whatever else happens, nothing of this claim is left
  /// behind on a server that answers: a silent fault may have been a grant, so it is withdrawn.
  Outcome run();

 private:
  store::Attempt ask();
  std::optional<Outcome> queue(const store::Queued& place);
  std::optional<Outcome> recover(const store::Fault& fault);
  std::optional<Outcome> accept(store::Granted granted);
  std::optional<Outcome> obey(const store::Notice& notice);
  /// Refreshes what is due and hears what others want of those; nothing if all is well.
  std::optional<Outcome> look_after_earlier();
  /// A signal that ends us, if one came; the others are dealt with.
  std::optional<int> deadly_signal();
  Outcome withdrawn(Outcome outcome);

  std::unique_ptr<store::LockStore> store_;
  store::Claim claim_;
  const Terms& terms_;
  HeldLocks& earlier_;
  os::Signals& signals_;
  WaitingLine line_;
  base::Millis retry_;
  bool asked_again_ = false;  // a single attempt whose answer was lost asks once more
  bool disturbed_ = false;    // a signal that does not concern us cut a question short
};

}  // namespace hold
