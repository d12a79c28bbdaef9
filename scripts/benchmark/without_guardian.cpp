// What src/os/guardian.cpp would be without a guardian: the job is rlock's own child, as it was
// once. For `scripts/bench guardian` alone, which measures the one next to the other.
#include <csignal>

#include "os/guardian.hpp"
#include "os/signals.hpp"

namespace os {

std::variant<Guardian, NotStarted> Guardian::start_job(const Program& program, Signals& signals,
                                                       base::Deadline until) {
  auto spawned = Child::spawn(program, signals);
  if (const auto* failure = std::get_if<NotStarted>(&spawned)) return *failure;
  Guardian guardian{GuardLine{}, 0, until};
  guardian.job_ = std::get<Child>(spawned).pid();
  guardian.hung_up_ = true;
  return guardian;
}

Guardian::Guardian(Guardian&& other) noexcept = default;
Guardian::~Guardian() = default;
void Guardian::dismiss() {}
void Guardian::keep_until(base::Deadline) {}

void Guardian::signal_job(int number) {
  if (!ended_) (void)::kill(job_, number);
}

std::optional<Change> Guardian::take() {
  while (const auto change = reap()) {
    if (change->pid == job_) return over(*change);
  }
  return std::nullopt;
}

Change Guardian::over(Change change) {
  ended_ = ended_ || change.kind == Change::Kind::ended;
  return change;
}

}  // namespace os
