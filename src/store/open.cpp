#include "store/open.hpp"

#include "base/match.hpp"
#include "store/redis/examination.hpp"
#include "store/redis/redis_admin.hpp"
#include "store/redis/redis_store.hpp"

namespace store {

std::unique_ptr<LockStore> open(const ServerSpec& server) {
  return base::match(server, [](const RedisServer& redis) { return redis::open_store(redis); });
}

std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server) {
  return base::match(server, [](const RedisServer& redis) { return redis::open_admin(redis); });
}

Findings examine(const ServerSpec& server, const LockName& name, const Patience& patience) {
  return base::match(
      server, [&](const RedisServer& redis) { return redis::examine(redis, name, patience); });
}

}  // namespace store
