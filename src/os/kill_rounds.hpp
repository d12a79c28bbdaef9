// The rhythm in which what may not die is killed again, and the name of what does not.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "os/process_tree.hpp"

namespace os {

/// Rounds of KILL come ten milliseconds apart, for what forked between a look and its signal. If
/// one meets exactly the processes of the last one, nothing forks, and the pause doubles, up to a
/// second: what SIGKILL does not end (a device that hangs, another user's program) takes no
/// processor time from others. One thread at a time.
class KillRounds {
 public:
  /// After a round.
  void met(const Reached& reached, base::Moment now);

  [[nodiscard]] base::Deadline due() const { return due_; }
  /// The last rounds met the same processes.
  [[nodiscard]] bool is_stuck() const { return pause_ > shortest; }
  /// For people, once, a second after the processes have stopped changing: which of them lasts.
  std::optional<std::string> complaint(const ProcessTree& tree, base::Moment now);

 private:
  static constexpr base::Millis shortest{10};

  std::set<std::pair<pid_t, unsigned long long>> last_{};
  std::optional<base::Moment> unchanged_since_{};
  base::Millis pause_{shortest};
  base::Deadline due_ = base::Deadline::at({});
  std::optional<Process> lasting_{};
  bool is_blind_ = false;
  bool said_ = false;
};

}  // namespace os
