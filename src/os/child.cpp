#include "os/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/signals.hpp"

namespace os {
namespace {

struct Orders {
  char* const* argv;
  char* const* environment;
  const sigset_t* mask;
  bool ignore_child;
  pid_t parent;
  int report;  // close-on-exec: a successful exec closes it, a failed one writes errno
};

/// Runs in the child. With vfork() its memory is ours: only system calls, nothing that allocates,
/// locks or returns.
[[noreturn]] void carry_out(const Orders& orders) {
  // Without its guardian no process could stop the job when rlock is killed: so the job dies with
  // the guardian.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != orders.parent) ::_exit(127);
  if (orders.ignore_child) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, orders.mask, nullptr);
  ::execvpe(orders.argv[0], orders.argv, orders.environment);
  const int error = errno;
  (void)!::write(orders.report, &error, sizeof error);
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Program::Program(const std::vector<std::string>& argv, const std::vector<std::string>& environment)
    : argv_{pointers(argv)}, environment_{pointers(environment)} {}

base::Result<Child, NotStarted> Child::spawn(const Program& program, const Signals& signals) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return NotStarted{NotStarted::Stage::fork, errno};
  const Fd reader{ends[0]};
  Fd writer{ends[1]};
  const Orders orders{program.argv(),
                      program.environment(),
                      &signals.inherited_mask(),
                      signals.inherited_child_ignored(),
                      ::getpid(),
                      writer.number()};

  // vfork and not fork: it copies no page table, which is a tenth of what a whole run costs.
  // It is sound here: one thread, all signals blocked, no handlers, and the child only execs.
  const pid_t pid = ::vfork();
  if (pid == 0) carry_out(orders);
  if (pid < 0) return NotStarted{NotStarted::Stage::fork, errno};
  writer = Fd{};

  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(reader.number(), &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  if (size == static_cast<ssize_t>(sizeof error)) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return NotStarted{NotStarted::Stage::exec, error};
  }
  return Child{pid};
}

std::optional<Change> reap() {
  int status = 0;
  const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
  if (pid <= 0) return std::nullopt;
  const auto kind = WIFSTOPPED(status) ? Change::Kind::stopped : Change::Kind::ended;
  return Change{kind, pid, status};
}

}  // namespace os
