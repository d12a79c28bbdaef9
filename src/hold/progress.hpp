// The status of a wait, for people.
#pragma once

#include <string>

#include "store/lock_store.hpp"

namespace hold {

/// "held by app@web1:42/job.sh for 3m12s", with the holder's reason in parentheses if it gave one,
/// "reserved for …", "held by a foreign client (…)".
std::string describe(const std::optional<store::Holder>& holder);

/// The estimated time until our turn, if runs take as long as usual: one run for each waiter ahead,
/// the rest of the holder's own, and for permits several at once. Nothing if the last runs allow no
/// estimate: none is recorded, the holder is a foreign client or has held the lock for more than
/// twice as long as usual, or readers share the lock (how many of those ahead will run together is
/// unknown). Pure.
std::optional<base::Millis> expected_wait(const store::Queued& queued, const store::Mode& mode);

/// ", about 4m", or ", runs usually take 3m" if the holder is far over that; may be empty.
std::string outlook(const store::Queued& queued, const store::Mode& mode);

/// "waiting for 'a': held by …, position 2, about 4m". With `columns`, one line of a terminal that
/// wide, which begins with the changing part: "waiting for 'a', position 2, about 4m: held by …".
/// `trouble`, unless empty, replaces the holder.
std::string waiting_text(const store::LockName& name, const store::Queued& queued,
                         const store::Mode& mode, const std::string& trouble,
                         std::optional<std::size_t> columns);

/// On a terminal, one line that is rewritten every second. Elsewhere a line at the start, one when
/// our position or the holder changes (at least 10 s after the last one: a queue may move quickly),
/// and one a minute, so that a CI system does not consider the step dead. Silent with --quiet. Main
/// thread.
class WaitingLine {
 public:
  WaitingLine(store::LockName name, store::Mode mode);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// Takes the newest state, and shows as much as it may now.
  void update(const store::Queued& queued, base::Moment now);
  void update(const store::Fault& fault, base::Moment now);
  /// Shows the known state again, with the time that has passed.
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
  // Without a terminal: the last line.
  store::Queued said_{};
  base::Moment said_at_{};
  base::Deadline due_;
};

}  // namespace hold
