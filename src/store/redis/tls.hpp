// A connection that is encrypted and verifies its peer.
#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

/// Performs a TLS handshake (1.2 or newer) on the connected, non-blocking socket of `context`,
/// which then reads and writes through it and owns its state: see tls::start(). hiredis's own TLS
/// checks only the chain.
Result<base::Done> start_tls(redisContext& context, const RedisServer::Tls& tls,
                             const std::string& host, const CallLimit& limit);

/// Whether the connection broke because the server refuses our certificate, or requires one. In TLS
/// 1.3 it says so only after the handshake.
bool refused_by_tls(const redisContext& context);

}  // namespace store::redis
