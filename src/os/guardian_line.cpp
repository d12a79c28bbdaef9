#include "os/guardian_line.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <type_traits>

#include "base/log.hpp"
#include "os/error.hpp"
#include "os/process_tree.hpp"
#include "os/signals.hpp"

namespace os {

static_assert(std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Order>);

void GuardianLine::connect(GuardianLine& one, GuardianLine& other) {
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
        "creating a pair of sockets");
  one = GuardianLine{Fd{ends[0]}};
  other = GuardianLine{Fd{ends[1]}};
}

bool GuardianLine::send_bytes(const void* bytes, std::size_t size) {
  return ::send(fd_.number(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

GuardianLine::Taken GuardianLine::take_bytes(void* bytes, std::size_t size) {
  for (;;) {
    const ssize_t got = ::recv(fd_.number(), bytes, size, 0);
    if (got == static_cast<ssize_t>(size)) return Taken::message;
    if (got == 0) return Taken::hung_up;
    if (got < 0 && errno == EAGAIN) return Taken::nothing;
    // The other end left without reading all of ours. The kernel says so once, before its messages.
    if (got < 0 && errno != EINTR && errno != ECONNRESET) fail("reading from the guardian");
  }
}

void pass_on(pid_t job, const Order& order) {
  sigval value{};
  // The wider member of the union.
  // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-union-access)
  value.sival_ptr = reinterpret_cast<void*>(order.value.value_or(0));
  const int sent = order.value ? ::sigqueue(job, order.signal, value) : ::kill(job, order.signal);
  if (sent != 0) base::log::error("{}", Reached::Refused{job, errno}.text(order.signal));
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

void report_signals(GuardianLine& line, Signals& signals) {
  while (const auto signal = signals.take()) {
    // SIGCHLD only wakes us.
    if (signal->sender != Sender::process || signal->number == SIGCHLD) continue;
    line.send(Report{Report::Kind::signalled, signal->pid, signal->number});
  }
}

}  // namespace os
