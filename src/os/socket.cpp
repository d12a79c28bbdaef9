#include "os/socket.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "os/check.hpp"
#include "os/resolver.hpp"

namespace os {
namespace {

constexpr int stream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Connected finish_connect(Fd fd, const sockaddr* address, socklen_t size, const CallLimit& limit) {
  if (::connect(fd.number(), address, size) == 0) return fd;
  // A full backlog of a Unix socket says EAGAIN; that is "later", which the caller decides about.
  if (errno != EINPROGRESS) return NotConnected{describe(errno)};
  switch (wait_for(fd.number(), Want::write, limit)) {
    case Ready::timed_out: return NotConnected{"no answer to the connection attempt"};
    case Ready::interrupted: return NotConnected{"interrupted"};
    case Ready::yes: break;
  }
  int error = 0;
  socklen_t length = sizeof error;
  check(::getsockopt(fd.number(), SOL_SOCKET, SO_ERROR, &error, &length), "asking a socket");
  if (error != 0) return NotConnected{describe(error)};
  return fd;
}

void set_option(const Fd& fd, int layer, int option, int value) {
  // Wishes only: a socket without them still works.
  (void)::setsockopt(fd.number(), layer, option, &value, sizeof value);
}

void tune(const Fd& fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A waiter may be silent for a heartbeat; middleboxes that forget quiet connections, and servers
  // that vanished without a word, show within 30 s.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

Connected connect_unix(const std::string& path, const CallLimit& limit) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return NotConnected{"the socket's path is too long"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd{::socket(AF_UNIX, stream, 0)};
  if (!fd) return NotConnected{describe(errno)};
  return finish_connect(std::move(fd), reinterpret_cast<const sockaddr*>(&address), sizeof address,
                        limit);
}

Connected connect_tcp(const std::string& host, const std::string& port, const CallLimit& limit) {
  const auto resolved = resolve(host, port, limit);
  if (const auto* not_resolved = std::get_if<NotResolved>(&resolved)) {
    return NotConnected{not_resolved->why};
  }
  const auto& list = std::get<Addresses>(resolved);

  Connected last = NotConnected{"the name has no address"};
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    Fd fd{::socket(entry->ai_family, stream, 0)};
    if (!fd) {
      last = NotConnected{describe(errno)};  // e.g. no IPv6 on this host: the next may do
      continue;
    }
    // A silent first address must leave time for the others: an even share of what is left.
    std::size_t remaining = 0;
    for (const addrinfo* rest = entry; rest != nullptr; rest = rest->ai_next) ++remaining;
    const base::Moment now = base::now();
    const auto share = limit.until.left(now) / remaining;
    last = finish_connect(std::move(fd), entry->ai_addr, entry->ai_addrlen,
                          limit.at_most(base::Deadline::after(now, share)));
    if (const Fd* connected = std::get_if<Fd>(&last)) {
      tune(*connected);
      break;
    }
  }
  return last;
}

std::uint64_t bytes_received(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool told = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  return told ? info.tcpi_bytes_received : 0;
}

void hang_up(int fd) {
  ::shutdown(fd, SHUT_RDWR);
}

}  // namespace os
