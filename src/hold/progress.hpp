// What people see while they wait for a lock.
#pragma once

#include <string>

#include "store/lock_store.hpp"

namespace hold {

/// "held by app@web1:42/job.sh for 3m12s", "reserved for …", "held by a foreign client (…)".
std::string describe(const std::optional<store::Holder>& holder);

/// "waiting for 'a': held by …, position 2"; with `columns` it is one line of a terminal that wide,
/// which begins with what changes: "waiting for 'a', position 2: held by …". `trouble`, unless
/// empty, is said in place of the holder.
std::string waiting_text(const store::LockName& name, const store::Queued& place,
                         const std::string& trouble, std::optional<std::size_t> columns);

/// On a terminal one line that is rewritten every second; elsewhere a line at the start and one a
/// minute, so that a CI system does not take the step for dead. Silent when quiet. Main thread.
class WaitingLine {
 public:
  explicit WaitingLine(store::LockName name);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// The newest news, and what can be shown of it now.
  void update(const store::Queued& place, base::Moment now);
  void update(const store::Fault& fault, base::Moment now);
  /// Shows again what is known, with the time that passed.
  void tick(base::Moment now);
  /// When tick() is due.
  [[nodiscard]] base::Deadline due() const { return due_; }

 private:
  store::LockName name_;
  bool terminal_;
  store::Queued place_{};
  std::string trouble_;
  base::Moment told_at_{};
  base::Deadline due_;
};

}  // namespace hold
