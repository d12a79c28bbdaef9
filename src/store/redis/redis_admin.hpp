// Inspecting and taking away locks on one Redis server.
#pragma once

#include <memory>

#include "store/lock_admin.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

std::unique_ptr<LockAdmin> open_admin(const RedisServer& server);

}  // namespace store::redis
