// A connection made private, and sure of whom it talks to.
#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

/// Shakes hands (TLS 1.2 or newer) over the connected, non-blocking socket of `context`, which then
/// reads and writes through it and owns what that takes. The server's certificate must be trusted
/// and be for `host`, a name or an address: hiredis's own TLS checks the chain only.
Result<base::Done> start_tls(redisContext& context, const RedisServer::Tls& tls,
                             const std::string& host, const CallLimit& limit);

/// Whether the connection broke because the server does not want our certificate, or wants one. In
/// TLS 1.3 it says so only after the handshake.
bool refused_by_tls(const redisContext& context);

}  // namespace store::redis
