#include "store/open.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "store/local/local_admin.hpp"
#include "store/local/local_store.hpp"
#include "store/redis/examination.hpp"
#include "store/redis/redis_admin.hpp"
#include "store/redis/redis_store.hpp"

namespace store {

std::unique_ptr<LockStore> open(const ServerSpec& server) {
  return base::match(
      server, [](const RedisServer& redis) { return redis::open_store(redis); },
      [](const LocalDirectory& local) { return local::open_store(local); });
}

std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server) {
  return base::match(
      server, [](const RedisServer& redis) { return redis::open_admin(redis); },
      [](const LocalDirectory& local) { return local::open_admin(local); });
}

bool can(const ServerSpec& server, Feature feature) {
  const Features features = base::match(
      server, [](const RedisServer&) { return redis::features; },
      [](const LocalDirectory&) { return local::features; });
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Findings examine(const ServerSpec& server, const LockName& name, const Patience& patience) {
  return base::match(
      server, [&](const RedisServer& redis) { return redis::examine(redis, name, patience); },
      [&](const LocalDirectory& local) { return local::examine(local, name, patience); });
}

}  // namespace store
