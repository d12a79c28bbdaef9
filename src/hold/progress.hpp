// The status of a wait, for people.
#pragma once

#include <optional>
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

/// A line of a log: "waiting for 'a': held by …, position 2, about 4m". `trouble`, unless empty,
/// replaces all but the key.
std::string waiting_text(const store::LockName& name, const store::Queued& queued,
                         const store::Mode& mode, const std::string& trouble);

/// A line of a terminal, at most `columns` wide, that begins with the changing parts: "position 2,
/// waited 12s, about 4m: 'a' is held by …". If that is too wide, words are shortened first, then
/// facts are left out, the least important one first: the reason, how long the lock has been held,
/// the key, the holder.
std::string status_text(const store::LockName& name, const store::Queued& queued,
                        const store::Mode& mode, const std::string& trouble, base::Millis waited,
                        std::size_t columns);

/// On a terminal, one line that is rewritten every second. Elsewhere a line once the wait has
/// lasted a second, one when our position or the holder changes (at least 10 s after the last one:
/// a queue may move quickly), and one a minute, so that a CI system does not consider the step
/// dead. Silent with --quiet. Main thread.
class WaitingLine {
 public:
  /// `began`: when the wait began.
  WaitingLine(store::LockName name, store::Mode mode, base::Moment began);
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
  /// When the first line of a log is due; never: there is none to come.
  [[nodiscard]] base::Deadline first_line_due() const;
  /// Whether the known state is too old for the first line of a log, so that update() is better
  /// than tick().
  [[nodiscard]] bool wants_news(base::Moment now) const;
  /// Whether a log has a line about this wait, so that it should also tell the end.
  [[nodiscard]] bool is_in_log() const { return !terminal_ && is_told_; }

 private:
  store::LockName name_;
  store::Mode mode_;
  bool terminal_;
  base::Moment began_;
  store::Queued queued_{};
  std::string trouble_;
  base::Moment told_at_{};
  // Without a terminal: when the first line about the queue is due, whether it was written, and the
  // last line.
  std::optional<base::Deadline> first_{};
  bool is_told_ = false;
  store::Queued said_{};
  base::Moment said_at_{};
  base::Deadline due_;
};

}  // namespace hold
