#include "os/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <string_view>

#include "os/core_limit.hpp"
#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/signals.hpp"

namespace os {
namespace {

constexpr std::size_t room_for_pid = 12;

struct Orders {
  const Program* program;
  const sigset_t* mask;
  bool ignore_child;
  pid_t parent;
  const StartLimit* limit;
  int report;  // close-on-exec: a successful exec closes it, a failed one writes NotStarted
};

/// Has the kernel kill this process at the limit, whatever system call it sleeps in. An exec
/// removes the timer; the parent undoes the rest, which hangs on the lifeline. Returns false, with
/// errno, if the kernel refuses: then the command must not be loaded.
bool obey(const StartLimit& limit) {
  // A pair of sockets signals its owner when data arrives and when the other end closes.
  const int flags = ::fcntl(limit.lifeline, F_GETFL);
  if (flags < 0 || ::fcntl(limit.lifeline, F_SETSIG, SIGKILL) != 0 ||
      ::fcntl(limit.lifeline, F_SETOWN, ::getpid()) != 0 ||
      ::fcntl(limit.lifeline, F_SETFL, flags | O_ASYNC) != 0) {
    return false;
  }
  pollfd other_end{limit.lifeline, 0, 0};
  if (::poll(&other_end, 1, 0) > 0) ::_exit(127);  // it closed earlier
  if (limit.until.is_never()) return true;
  sigevent kill{};
  kill.sigev_notify = SIGEV_SIGNAL;
  kill.sigev_signo = SIGKILL;
  timer_t timer{};
  if (::timer_create(CLOCK_BOOTTIME, &kill, &timer) != 0) return false;
  const auto moment = limit.until.moment().time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(moment);
  itimerspec at{};
  at.it_value.tv_sec = seconds.count();
  at.it_value.tv_nsec = (moment - seconds).count();
  return ::timer_settime(timer, TIMER_ABSTIME, &at, nullptr) == 0;
}

/// Makes the lifeline signal no process from now on.
void release(int lifeline) {
  const int flags = ::fcntl(lifeline, F_GETFL);
  (void)::fcntl(lifeline, F_SETFL, flags & ~O_ASYNC);
  (void)::fcntl(lifeline, F_SETOWN, 0);
}

/// Whether the child, whose end of the pipe is closed, was killed before it executed. A process
/// that is exiting has no command line.
bool was_killed(pid_t pid) {
  if (!contents_of("/proc/" + std::to_string(pid) + "/cmdline").value_or("").empty()) return false;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  return info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

[[noreturn]] void give_up(const Orders& orders, NotStarted::Stage stage) {
  const NotStarted why{stage, errno};
  (void)!::write(orders.report, &why, sizeof why);
  ::_exit(127);
}

/// Runs in the child, which shares our memory if vfork() made it: only system calls, nothing that
/// allocates, locks or returns.
[[noreturn]] void carry_out(const Orders& orders) {
  // Without its guardian no process could stop the job if rlock is killed, so the job dies with the
  // guardian.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(orders, NotStarted::Stage::fork);
  if (::getppid() != orders.parent) ::_exit(127);
  if (!obey(*orders.limit)) give_up(orders, NotStarted::Stage::fork);
  if (orders.ignore_child) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, orders.mask, nullptr);
  // The limit applies to this process alone, but the memory is still rlock's, with its passwords:
  // no core file of it. An exec undoes this.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  give_core_back();
  orders.program->name_process(::getpid());
  ::execvpe(orders.program->argv()[0], orders.program->argv(), orders.program->environment());
  give_up(orders, NotStarted::Stage::exec);
}

/// vfork() copies no page table, unlike fork(), which saves a tenth of the cost of a run. It is
/// safe here: one thread, all signals blocked, no handlers, and the child only execs.
[[gnu::noinline]] pid_t start(const Orders& orders) {
  const pid_t pid = ::vfork();
  if (pid == 0) carry_out(orders);
  return pid;
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
    : argv_{pointers(argv)}, environment_{pointers(environment)} {
  const std::string us = std::to_string(::getpid());
  bool listens = false;
  for (char*& entry : environment_) {
    // This loop sees every variable of every run: reject most by their first letter.
    if (entry == nullptr || (*entry != 'L' && *entry != 'W')) continue;
    for (const std::string_view name : {"LISTEN_PID=", "WATCHDOG_PID="}) {
      if (entry != std::string{name} + us) continue;
      listens = listens || name == "LISTEN_PID=";
      name_us_.push_back({std::string{name} + std::string(room_for_pid, '\0'), name.size()});
      entry = name_us_.back().text.data();
    }
  }
  // The variables again, with the pid in them, which is unknown until the process exists. That copy
  // may be missing.
  if (!listens) return;
  std::erase_if(environment_, [](const char* entry) {
    return entry != nullptr && std::string_view{entry}.starts_with("LISTEN_PIDFDID=");
  });
}

void Program::name_process(pid_t pid) const {
  for (const NamesProcess& each : name_us_) {
    char* const number = const_cast<char*>(each.text.data()) + each.number_at;
    *std::to_chars(number, number + room_for_pid - 1, pid).ptr = '\0';
  }
}

base::Result<Child, NotStarted> Child::spawn(const Program& program, const Signals& signals,
                                             const StartLimit& limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return NotStarted{NotStarted::Stage::fork, errno};
  const Fd reader{ends[0]};
  Fd writer{ends[1]};
  const Orders orders{&program,
                      &signals.inherited_mask(),
                      signals.inherited_child_ignored(),
                      ::getpid(),
                      &limit,
                      writer.number()};

  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  const pid_t pid = start(orders);
  (void)::prctl(PR_SET_DUMPABLE, dumpable);  // the child shared our memory
  if (pid < 0) return NotStarted{NotStarted::Stage::fork, errno};
  writer = Fd{};

  NotStarted why{};
  ssize_t size = 0;
  do {
    size = ::read(reader.number(), &why, sizeof why);
  } while (size < 0 && errno == EINTR);
  // Not earlier: under a sanitizer vfork() is fork(), and the child may only now have begun.
  release(limit.lifeline);
  if (size == static_cast<ssize_t>(sizeof why)) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return why;
  }
  if (limit.until.passed(base::now()) && was_killed(pid)) {
    (void)::waitpid(pid, nullptr, 0);
    return NotStarted{NotStarted::Stage::late, ETIMEDOUT};
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
