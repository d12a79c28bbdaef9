#include "os/guard_line.hpp"

#include <sys/socket.h>

#include <type_traits>

#include "os/check.hpp"

namespace os {

static_assert(std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Order>);

void GuardLine::connect(GuardLine& one, GuardLine& other) {
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
        "creating a pair of sockets");
  one = GuardLine{Fd{ends[0]}};
  other = GuardLine{Fd{ends[1]}};
}

bool GuardLine::send_bytes(const void* bytes, std::size_t size) {
  return ::send(fd_.number(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

GuardLine::Taken GuardLine::take_bytes(void* bytes, std::size_t size) {
  for (;;) {
    const ssize_t got = ::recv(fd_.number(), bytes, size, 0);
    if (got == static_cast<ssize_t>(size)) return Taken::message;
    if (got == 0) return Taken::hung_up;
    if (got < 0 && errno == EAGAIN) return Taken::nothing;
    // The other end left without having read all of ours: said once, before what it wrote to us.
    if (got < 0 && errno != EINTR && errno != ECONNRESET) fail("reading from the guardian");
  }
}

}  // namespace os
