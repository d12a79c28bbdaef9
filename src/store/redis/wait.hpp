// How a waiter sleeps until its turn comes, and how a holder hears notices.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/lock_store.hpp"
#include "store/redis/client.hpp"
#include "store/redis/server.hpp"
#include "store/rules/waiting.hpp"

namespace store::redis {

// They are arguments of the scripts, so clients with different ones get along.
using rules::confirm_within;
using rules::heartbeat;
using rules::patience;
using rules::second_look;

/// Sleeping in BLPOP: the server ends it after `server_timeout`, or we do after `cut`, by throwing
/// the connection away, when the server's clock is too coarse.
struct WaitTime {
  Millis server_timeout;
  std::optional<Millis> cut;
};

/// For the place in the queue that the server gave. Pure, but for the jitter of polling a holder
/// that is no rlock. The first waiter waits for a wake, or for the end of the holder's lease,
/// should the holder have died.
WaitTime wait_time_for(const Queued& place);

/// Blocks a client in BLPOP and gives it back. One thread at a time.
class BlockingWait {
 public:
  explicit BlockingWait(Client& client) : client_{client} {}

  /// Blocks, unless it still does, for as long as `place` allows, and says what ended that.
  Turn sleep(const std::string& mailbox, const Queued& place, const CallLimit& limit);
  /// To be called before the client is used for anything else. A wake that this loses costs
  /// nothing, because after every wake the server is asked anyway.
  void unblock();

 private:
  Result<base::Done> block(const std::string& mailbox, WaitTime time, const CallLimit& limit);

  Client& client_;
  bool blocked_ = false;                   // the client is blocked
  Deadline too_soon_ = Deadline::never();  // an empty answer before that did not wait
  Deadline cut_ = Deadline::never();
};

/// A holder's second connection: it blocks in the holder's mailbox, so that a notice is heard at
/// once.
std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox);

}  // namespace store::redis
