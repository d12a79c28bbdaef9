// Connecting to a server, bounded in time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/poll.hpp"

namespace os {

/// Non-blocking, close-on-exec stream sockets. TCP tries every address the name has, in the
/// resolver's order, with TCP_NODELAY and keep-alive. A host that is an address costs no look-up.
/// A name is looked up in a thread that is left behind when limit ends: getaddrinfo(3) cannot be
/// interrupted, and takes as long as resolv.conf(5) says, often 10 s for each silent name server.
Result<Fd> connect_unix(const std::string& path, const CallLimit& limit);
Result<Fd> connect_tcp(const std::string& host, const std::string& port, const CallLimit& limit);

/// The addresses of a name, as text, each once, in the order in which connect_tcp would try them. A
/// host that is an address is the only one.
Result<std::vector<std::string>> addresses_of(const std::string& host, const std::string& port,
                                              const CallLimit& limit);

/// What the socket is connected to, to compare it: the bytes of an address. Empty if it is not.
std::string peer_of(int socket);
/// Bytes that a TCP connection has brought so far, read or not; 0 where the kernel does not tell.
std::uint64_t bytes_received(int fd);
/// Ends both directions; a reader gets what has arrived, then the end.
void hang_up(int fd);

}  // namespace os
