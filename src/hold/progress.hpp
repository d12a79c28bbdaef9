// What people see while they wait for a lock.
#pragma once

#include <string>

#include "store/lock_store.hpp"

namespace hold {

/// "held by app@web1:42/job.sh for 3m12s", with the reason in parentheses if it gave one,
/// "reserved for …", "held by a foreign client (…)".
std::string describe(const std::optional<store::Holder>& holder);

/// How long it takes until it is our turn, if runs go on to take as long as they usually do: each
/// of those ahead one run, what the holder has left of its own, and of permits so many at a time.
/// Nothing where the last runs say nothing about it: none is remembered, the holder is no rlock or
/// has had the lock for more than twice as long as usual, or readers share it (how many of those
/// ahead run together is not known). Pure.
std::optional<base::Millis> expected_wait(const store::Queued& queued, const store::Mode& mode);

/// ", about 4m", or ", runs usually take 3m" where the holder is far over that; may be empty.
std::string outlook(const store::Queued& queued, const store::Mode& mode);

/// "waiting for 'a': held by …, position 2, about 4m"; with `columns` it is one line of a terminal
/// that wide, which begins with what changes: "waiting for 'a', position 2, about 4m: held by …".
/// `trouble`, unless empty, is said in place of the holder.
std::string waiting_text(const store::LockName& name, const store::Queued& queued,
                         const store::Mode& mode, const std::string& trouble,
                         std::optional<std::size_t> columns);

/// On a terminal one line that is rewritten every second; elsewhere a line at the start, one when
/// our position or the holder changes (not sooner than 10 s after the last one: a queue may move
/// quickly), and one a minute, so that a CI system does not take the step for dead. Silent when
/// quiet. Main thread.
class WaitingLine {
 public:
  WaitingLine(store::LockName name, store::Mode mode);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// The newest news, and what can be shown of it now.
  void update(const store::Queued& queued, base::Moment now);
  void update(const store::Fault& fault, base::Moment now);
  /// Shows again what is known, with the time that passed.
  void tick(base::Moment now);
  /// When tick() is due.
  [[nodiscard]] base::Deadline due() const { return due_; }

 private:
  store::LockName name_;
  store::Mode mode_;
  bool terminal_;
  store::Queued queued_{};
  std::string trouble_;
  base::Moment told_at_{};
  // Elsewhere than on a terminal: the last line.
  store::Queued said_{};
  base::Moment said_at_{};
  base::Deadline due_;
};

}  // namespace hold
