// Connections to a server, with a time limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/poll.hpp"

namespace os {

/// Non-blocking, close-on-exec stream sockets. TCP tries every address of the name, in the
/// resolver's order, with TCP_NODELAY and keep-alive. A host given as an address needs no look-up.
/// A name is looked up in a thread that is abandoned when the limit ends: getaddrinfo(3) cannot be
/// interrupted, and takes as long as resolv.conf(5) says, often 10 s for each silent name server.
Result<Fd> connect_unix(const std::string& path, const CallLimit& limit);
Result<Fd> connect_tcp(const std::string& host, const std::string& port, const CallLimit& limit);

/// The addresses of a name, as text, each once, in the order of connect_tcp(). A host given as an
/// address is the only one.
Result<std::vector<std::string>> addresses_of(const std::string& host, const std::string& port,
                                              const CallLimit& limit);

/// Appends to `into` what has arrived at a non-blocking socket, at most so many bytes; 0: nothing
/// is there now. The end of the connection is an error.
Result<std::size_t> receive(int socket, std::string& into, std::size_t most);
/// How many of the bytes the kernel took; 0: no room now.
Result<std::size_t> send(int socket, std::string_view bytes);

/// The peer's address as bytes, for comparison. Empty if the socket is not connected.
std::string peer_of(int socket);
/// The bytes that a TCP connection has received so far, read or not; 0 if the kernel does not say.
std::uint64_t bytes_received(int fd);
/// Ends both directions; a reader gets the arrived data, then the end.
void hang_up(int fd);

}  // namespace os
