// The sleep of a waiter until its turn.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/lock_store.hpp"
#include "store/redis/client.hpp"
#include "store/redis/server.hpp"
#include "store/rules/waiting.hpp"

namespace store::redis {

// These are arguments of the scripts, so clients with other values are compatible.
using rules::confirm_within;
using rules::heartbeat;
using rules::patience;
using rules::second_look;

/// A sleep in BLPOP: the server ends it after `server_timeout`. If the server's clock is too
/// coarse, we end it after `cut` by closing the connection.
struct WaitTime {
  Millis server_timeout;
  std::optional<Millis> cut;
};

/// For the position in the server's answer. Pure, except for the jitter of polling a foreign
/// holder. The first waiter waits for a wake, or for the end of the holder's lease, in case the
/// holder has died.
WaitTime wait_time_for(const Queued& place);

/// Blocks a client in BLPOP and unblocks it. One thread at a time.
class BlockingWait {
 public:
  explicit BlockingWait(Client& client) : client_{client} {}

  /// Blocks, unless it already does, for as long as `place` allows, and returns what ended that.
  Turn sleep(const std::string& mailbox, const Queued& place, const CallLimit& limit);
  /// Call before any other use of the client. It may lose a wake, which costs nothing: after every
  /// wake the server is asked anyway.
  void unblock();

 private:
  Result<base::Done> block(const std::string& mailbox, WaitTime time, const CallLimit& limit);

  Client& client_;
  bool blocked_ = false;                   // the client is blocked
  Deadline too_soon_ = Deadline::never();  // an earlier empty answer came without a wait
  Deadline cut_ = Deadline::never();
};

}  // namespace store::redis
