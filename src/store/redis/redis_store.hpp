// A lock store on one Redis (or Valkey) server: the protocol of rlock-protocol(7).
#pragma once

#include <memory>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

std::unique_ptr<LockStore> open_store(const RedisServer& server);

}  // namespace store::redis
