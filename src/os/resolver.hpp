// Names to addresses, bounded in time.
#pragma once

#include <netdb.h>

#include <memory>
#include <string>
#include <variant>

#include "os/poll.hpp"

namespace os {

struct NotResolved {
  std::string why;
};

/// A list, in the order of RFC 6724, for stream sockets.
using Addresses = std::shared_ptr<const addrinfo>;

/// Addresses are taken as they are, at no cost. Names are asked for in a thread that is left behind
/// when limit ends: getaddrinfo(3) cannot be interrupted, and takes as long as resolv.conf(5)
/// says, often 10 s for each name server that is silent.
std::variant<Addresses, NotResolved> resolve(const std::string& host, const std::string& port,
                                             const CallLimit& limit);

}  // namespace os
