#include "os/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

#include "os/error.hpp"

namespace os {
namespace {

// All that a user, a terminal or an init system sends to a process it knows; a signal that is not
// here keeps its default for rlock itself.
// SIGALRM: an alarm(2) that was set before the exec of rlock is still set, and means the job.
constexpr std::array passed_on{SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                               SIGTERM, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

bool is_ignored(int number) {
  struct sigaction action {};
  check(::sigaction(number, nullptr, &action), "asking for a signal's disposition");
  return action.sa_handler == SIG_IGN;
}

void set_disposition(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  check(::sigaction(number, &action, nullptr), "setting a signal's disposition");
}

}  // namespace

Signals::Signals() : child_ignored_{is_ignored(SIGCHLD)} {
  // With SIGCHLD ignored the kernel would throw our job's exit status away.
  if (child_ignored_) set_disposition(SIGCHLD, SIG_DFL);

  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  for (const int number : passed_on) {
    // A blocked signal is queued even when it is ignored, so the ignored ones stay out.
    if (!is_ignored(number)) sigaddset(&taken, number);
  }
  sigset_t blocked = taken;
  sigaddset(&blocked, SIGPIPE);
  sigaddset(&blocked, SIGXFSZ);
  check(::sigprocmask(SIG_BLOCK, &blocked, &inherited_mask_), "blocking signals");
  fd_ = Fd{check(::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC), "creating a signalfd")};
}

std::optional<Signal> Signals::take() {
  signalfd_siginfo info{};
  const ssize_t size = ::read(fd_.number(), &info, sizeof info);
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  check(size, "reading a signal");
  // A hang-up is the exception: the kernel tells the session's leader alone, and if that is us, the
  // job would never hear of it.
  const bool leader_only = info.ssi_signo == SIGHUP && ::getsid(0) == ::getpid();
  // An alarm is the kernel's too, and for us alone.
  const bool kernel = info.ssi_code == SI_KERNEL && !leader_only && info.ssi_signo != SIGALRM;
  const bool by_outer_run = info.ssi_code == SI_QUEUE && info.ssi_int == whole_tree;
  const Sender sender = by_outer_run ? Sender::outer_run
                        : kernel     ? Sender::terminal
                                     : Sender::process;
  return Signal{static_cast<int>(info.ssi_signo), sender};
}

void Signals::suspend(int number) {
  // The disposition is the default one: an ignored signal never gets here.
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);  // stopped here, until SIGCONT
  ::sigprocmask(SIG_BLOCK, &only, nullptr);
}

}  // namespace os
