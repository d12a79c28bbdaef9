// The current master according to its sentinels ("Guidelines for Redis clients with support for
// Redis Sentinel", redis.io).
#pragma once

#include <optional>

#include "store/redis/connection.hpp"

namespace store::redis {

/// Finds the master through its sentinels, and notices its replacement. One thread at a time.
class MasterFinder {
 public:
  explicit MasterFinder(RedisServer::Sentinels sentinels) : sentinels_{std::move(sentinels)} {}

  /// Connects to the master that a sentinel names, and checks that it is one: an isolated sentinel
  /// may name a former master. Asks the first sentinel alone for a moment, then all at once, so
  /// that a silent one costs only that moment.
  Result<Connection> open(const RedisServer::Access& access, const CallLimit& limit);

  /// Whether more sentinels name another master than the one that open() has found. A master cut
  /// off from its sentinels continues to serve clients that reach it; after this, open() connects
  /// to the new one. Waits only briefly for the sentinels.
  bool replaced(const RedisServer::Access& access, const CallLimit& limit);

 private:
  using Tcp = RedisServer::Tcp;

  Result<Connection> open_checked(const Tcp& master, const RedisServer::Access& access,
                                  const CallLimit& limit);

  RedisServer::Sentinels sentinels_;
  std::optional<Tcp> current_;   // the last result of open()
  std::optional<Tcp> expected_;  // the master that most sentinels named at the replacement
};

}  // namespace store::redis
