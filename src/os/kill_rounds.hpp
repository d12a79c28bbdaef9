// The rhythm of repeated kills, and a report of processes that survive them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "os/process_tree.hpp"

namespace os {

/// KILL is repeated every ten milliseconds, for processes that forked between a look and its
/// signal. If a round meets exactly the processes of the last one, nothing forks, and the pause
/// doubles, up to a second: processes that SIGKILL cannot end (a hanging device, another user's
/// program) then take no processor time from others. One thread at a time.
class KillRounds {
 public:
  /// Call after each round.
  void met(const Reached& reached, base::Moment now);

  [[nodiscard]] base::Deadline due() const { return due_; }
  /// Whether the last rounds met the same processes.
  [[nodiscard]] bool is_stuck() const { return pause_ > shortest; }
  /// A line for people that names a survivor: once, a second after the processes stop changing.
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
