// A replacement of src/os/guardian*.cpp without a guardian: the job is rlock's own child. Only for
// `scripts/bench guardian`, which compares the two.
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "os/error.hpp"
#include "os/guardian.hpp"
#include "os/process_tree.hpp"

namespace os {

// Without a line there is no witness either.
void GuardianLine::connect(GuardianLine& /*one*/, GuardianLine& /*other*/) {
  fail("there is no guardian", ENOSYS);
}
bool GuardianLine::send_bytes(const void* /*bytes*/, std::size_t /*size*/) {
  return false;
}
GuardianLine::Taken GuardianLine::take_bytes(void* /*bytes*/, std::size_t /*size*/) {
  return Taken::hung_up;
}
void block_all_signals() {}
void report_signals(GuardianLine& /*line*/, Signals& /*signals*/) {}

base::Result<Guardian, NotStarted> Guardian::start_job(const Program& program, Signals& signals,
                                                       ProcessTree& tree, base::Deadline until) {
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "creating a lifeline");
  const Fd ours{ends[0]};
  const Fd its{ends[1]};
  const auto spawned = Child::spawn(program, signals, {its.number(), until});
  if (!spawned) return spawned.error();
  Guardian guardian{GuardianLine{}, 0, tree, until};
  guardian.job_ = spawned->pid();
  return guardian;
}

Guardian::Guardian(GuardianLine line, pid_t pid, ProcessTree& tree, base::Deadline until)
    : line_{std::move(line)}, tree_{tree}, guardian_{pid}, hung_up_{true}, until_{until} {}

Guardian::Guardian(Guardian&& other) noexcept = default;
Guardian::~Guardian() = default;
void Guardian::dismiss() {}
void Guardian::keep_until(base::Deadline /*until*/) {}
void Guardian::kill_tree() {}

bool Guardian::job_is_in_our_group() const {
  return !ended_;
}

bool Guardian::job_has_terminal() const {
  return false;
}

void Guardian::signal_job(int number, std::optional<std::uint64_t> /*value*/) {
  if (!ended_) (void)::kill(job_, number);
}

void Guardian::ask(int /*question*/) {}

std::optional<Report> Guardian::take_of_signals() {
  return std::nullopt;
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
