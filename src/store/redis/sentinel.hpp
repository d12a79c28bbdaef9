// Which server is the master: what its sentinels say ("Guidelines for Redis clients with support
// for Redis Sentinel", redis.io).
#pragma once

#include <optional>

#include "store/redis/connection.hpp"

namespace store::redis {

/// Finds the master by its sentinels, and notices that it has been replaced. One thread at a time.
class MasterFinder {
 public:
  explicit MasterFinder(RedisServer::Sentinels sentinels) : sentinels_{std::move(sentinels)} {}

  /// A connection to the master that a sentinel names and that says it is one: a sentinel that was
  /// cut off may name yesterday's. The first sentinel is asked alone for a moment, then all at
  /// once, so that one that is silent costs no more than that moment.
  Result<Connection> open(const RedisServer::Access& access, const CallLimit& limit);

  /// Whether more sentinels name another master than the one that open() has found. A master that
  /// was cut off from its sentinels goes on serving those who still reach it; then open() leads to
  /// the new one. Waits for the sentinels only briefly.
  bool replaced(const RedisServer::Access& access, const CallLimit& limit);

 private:
  using Tcp = RedisServer::Tcp;

  Result<Connection> open_checked(const Tcp& master, const RedisServer::Access& access,
                                  const CallLimit& limit);

  RedisServer::Sentinels sentinels_;
  std::optional<Tcp> current_;   // where open() has led to
  std::optional<Tcp> expected_;  // the master that most sentinels named when it was replaced
};

}  // namespace store::redis
