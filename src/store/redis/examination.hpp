// Is this Redis server fit to hold locks?
#pragma once

#include "store/finding.hpp"
#include "store/redis/link.hpp"

namespace store::redis {

/// Asks the server about itself, and takes and releases the lock `name` for a moment, as a run
/// would (unless somebody holds it). Questions that the server's access rules forbid are findings,
/// too.
Findings examine(const RedisServer& server, const LockName& name, const CallLimit& limit);

}  // namespace store::redis
