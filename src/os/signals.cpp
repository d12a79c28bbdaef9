#include "os/signals.hpp"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "os/error.hpp"

namespace os {
namespace {

// glibc keeps the first real-time signals for its threads.
bool belongs_to_library(int number) {
  return number > SIGSYS && number < SIGRTMIN;
}

bool can_be_passed_on(int number) {
  return number != SIGKILL && number != SIGSTOP && number != SIGCHLD && !belongs_to_library(number);
}

// Our own failed writes raise these, and a server may hang up at any time.
bool is_of_failed_write(int number) {
  return number == SIGPIPE || number == SIGXFSZ;
}

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

/// Signals that the kernel sends to a whole foreground group.
bool is_of_terminal(int number) {
  switch (number) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGCONT:
    case SIGWINCH: return true;
    // Sent to the session's leader alone: if that is us, the job would never receive it.
    case SIGHUP: return ::getsid(0) != ::getpid();
    default: return false;
  }
}

Sender sender_of(const signalfd_siginfo& info) {
  if (info.ssi_code == SI_QUEUE && info.ssi_int == Signals::whole_tree) return Sender::outer_run;
  if (info.ssi_code != SI_KERNEL) return Sender::process;
  return is_of_terminal(static_cast<int>(info.ssi_signo)) ? Sender::terminal : Sender::kernel;
}

/// The kernel refers to this process itself: a failed write, its use of the processor.
bool is_about_us(const signalfd_siginfo& info) {
  const auto number = static_cast<int>(info.ssi_signo);
  const bool by_us = info.ssi_pid == static_cast<std::uint32_t>(::getpid());
  return (is_of_failed_write(number) && by_us) || (number == SIGXCPU && info.ssi_code == SI_KERNEL);
}

}  // namespace

bool stops_a_process(int number) {
  return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool ends_a_process(int number) {
  switch (number) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH: return false;
    default: return !stops_a_process(number);
  }
}

Signals::Signals() : child_ignored_{is_ignored(SIGCHLD)} {
  // With SIGCHLD ignored the kernel would discard our job's exit status.
  if (child_ignored_) set_disposition(SIGCHLD, SIG_DFL);

  sigset_t blocked;
  sigemptyset(&blocked);
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (is_of_failed_write(number)) sigaddset(&blocked, number);
    // A blocked signal is queued even if it is ignored, so leave out the ignored ones.
    if (!can_be_passed_on(number) || is_ignored(number)) continue;
    sigaddset(is_of_failed_write(number) ? &of_failed_writes_ : &taken_, number);
  }
  sigorset(&blocked, &blocked, &taken_);
  check(::sigprocmask(SIG_BLOCK, &blocked, &inherited_mask_), "blocking signals");
  fd_ = Fd{check(::signalfd(-1, &taken_, SFD_NONBLOCK | SFD_CLOEXEC), "creating a signalfd")};
}

void Signals::take_all() {
  sigset_t all;
  sigorset(&all, &taken_, &of_failed_writes_);
  check(::signalfd(fd_.number(), &all, 0), "changing a signalfd");
}

std::optional<Signal> Signals::take() {
  for (;;) {
    signalfd_siginfo info{};
    const ssize_t size = ::read(fd_.number(), &info, sizeof info);
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    check(size, "reading a signal");
    if (is_about_us(info)) continue;
    Signal signal{static_cast<int>(info.ssi_signo), sender_of(info),
                  static_cast<pid_t>(info.ssi_pid)};
    if (info.ssi_code == SI_QUEUE) signal.value = info.ssi_ptr;
    return signal;
  }
}

void Signals::suspend(int number) {
  // The disposition is the default: an ignored signal never gets here.
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);  // stops here, until SIGCONT
  ::sigprocmask(SIG_BLOCK, &only, nullptr);
}

void Signals::die_of(int number) {
  if (is_ignored(number)) return;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::prctl(PR_SET_DUMPABLE, 0);  // rlock's memory helps nobody and contains secrets
  set_disposition(number, SIG_DFL);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

}  // namespace os
