// One connection to one Redis server: hiredis, made bounded in time and interruptible.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"
#include "store/redis/allowance.hpp"
#include "store/redis/reply.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

using Command = std::vector<std::string>;

/// A hiredis context never heals, so a connection is thrown away after its first Fault, and also
/// to abandon a command that it is blocked in. Its socket is non-blocking and close-on-exec. One
/// thread at a time.
class Connection {
 public:
  /// Connects, shakes hands over TLS if need be, authenticates and selects the database.
  static std::variant<Connection, Fault> open(const RedisServer::Address& address,
                                              const RedisServer::Access& access,
                                              const CallLimit& limit);

  /// Hands the command to the kernel.
  std::optional<Fault> send(const Command& command, const CallLimit& limit);
  /// The next answer; nothing when limit ended first, in which case it may be asked for again.
  std::variant<Reply, Fault, std::monostate> receive(const CallLimit& limit);
  /// Both; limit that ends is a Fault here. An error the server answers is one, too, except
  /// NOSCRIPT, MOVED and ASK, which are returned for the caller to resolve.
  std::variant<Reply, Fault> ask(const Command& command, const CallLimit& limit);

  [[nodiscard]] int descriptor() const { return context_->fd; }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  explicit Connection(redisContext* context) : context_{context} {}
  std::optional<Fault> greet(const RedisServer::Access& access, const CallLimit& limit);

  [[nodiscard]] Fault broken() const;

  std::unique_ptr<Allowance> allowance_ = std::make_unique<Allowance>();  // the reader points to it
  std::unique_ptr<redisContext, Free> context_;
  bool may_want_tls_ = false;  // a port in plain text that has never said anything
};

/// Whether there is no time for another question.
bool ended(const CallLimit& limit);

/// What an error answer of the server means.
Fault classify(std::string_view error);

/// What went wrong at `where`, which is one of several servers.
Fault named(const RedisServer::Tcp& where, Fault fault);
/// That, before it was asked anything that matters to a lock.
Fault on_the_way(const RedisServer::Tcp& where, Fault fault);

}  // namespace store::redis
