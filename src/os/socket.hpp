// Connecting to a server, bounded in time.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "os/fd.hpp"
#include "os/poll.hpp"

namespace os {

/// Why there is no connection, in the system's words.
struct NotConnected {
  std::string why;
};

using Connected = std::variant<Fd, NotConnected>;

/// Non-blocking, close-on-exec stream sockets. TCP tries every address the name has, in the
/// resolver's order, with TCP_NODELAY and keep-alive.
Connected connect_unix(const std::string& path, const CallLimit& limit);
Connected connect_tcp(const std::string& host, const std::string& port, const CallLimit& limit);

/// Bytes that a TCP connection has brought so far, read or not; 0 where the kernel does not tell.
std::uint64_t bytes_received(int fd);
/// Nothing comes or goes any more; who has it open reads what is there, then the end.
void hang_up(int fd);

}  // namespace os
