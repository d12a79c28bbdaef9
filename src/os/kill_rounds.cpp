#include "os/kill_rounds.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "os/file.hpp"

namespace os {
namespace {

constexpr base::Millis rarest_round{1'000};
// A process that exits may take a moment, as does freeing its memory.
constexpr base::Millis worth_a_word{1'000};

std::string shown(const Process& process) {
  std::string name = contents_of("/proc/" + std::to_string(process.pid) + "/comm").value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return std::to_string(process.pid) + " (" + base::printable(name) + ")";
}

}  // namespace

void KillRounds::met(const Reached& reached, base::Moment now) {
  std::set<std::pair<pid_t, unsigned long long>> met;
  for (const Process& each : reached.members) met.emplace(each.pid, each.start);
  if (unchanged_since_ && met == last_) {
    pause_ = std::min(pause_ * 2, rarest_round);
  } else {
    pause_ = shortest;
    unchanged_since_ = now;
    last_ = std::move(met);
  }
  due_ = base::Deadline::after(now, pause_);
  const auto alive = std::find_if(reached.members.begin(), reached.members.end(),
                                  [](const Process& each) { return each.state != 'Z'; });
  lasting_.reset();
  if (alive != reached.members.end()) {
    lasting_ = *alive;
  } else if (!reached.members.empty()) {
    lasting_ = reached.members.front();
  }
  is_blind_ = reached.unseen != 0;
}

std::optional<std::string> KillRounds::complaint(const ProcessTree& tree, base::Moment now) {
  if (said_ || !unchanged_since_ || is_blind_) return std::nullopt;
  if (!base::Deadline::after(*unchanged_since_, worth_a_word).passed(now)) return std::nullopt;
  const bool alive = lasting_ && lasting_->state != 'Z';
  const auto guardian = alive ? std::nullopt : tree.guardian();
  if (!lasting_ && !guardian) return std::nullopt;
  said_ = true;
  if (guardian) {
    return "the job is killed; waiting for its guardian, process " + std::to_string(*guardian) +
           ", which does not run";
  }
  if (!alive) {
    return "process " + shown(*lasting_) +
           " of the job has ended, but its parent or a debugger keeps it; waiting for that";
  }
  return "SIGKILL does not end process " + shown(*lasting_) +
         " of the job; waiting for it, and trying again";
}

}  // namespace os
