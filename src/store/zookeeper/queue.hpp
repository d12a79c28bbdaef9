// The queue of one lock on the ensemble: reading it, and standing in it.
#pragma once

#include <optional>
#include <string>

#include "store/lock_admin.hpp"
#include "store/zookeeper/client.hpp"
#include "store/zookeeper/queue_order.hpp"

namespace store::zookeeper {

/// The queue below the lock's node `lock`; empty if that node is not there.
Result<LockQueue> read_queue(Session& session, const std::string& lock, const CallLimit& limit);
/// The first holder; nothing if there is none, or if it cannot be read.
std::optional<Holder> first_holder(Session& session, const std::string& lock,
                                   const LockQueue& queue, const CallLimit& limit);
/// All holders and waiters.
Result<LockReport> report_on(Session& session, const std::string& lock, const LockName& name,
                             const CallLimit& limit);

/// Where this process stands.
struct Position {
  std::string lock;         // the lock's node
  std::string node;         // ours below it; empty while there is none
  std::string predecessor;  // the one we wait for; empty if there is nothing to wait for
};

/// Enters the queue, unless the token is in it already, and looks who is before it. The lease
/// counts from `asked_at`.
Attempt enter(Session& session, const Claim& claim, Position& position, Moment asked_at,
              const CallLimit& limit);

}  // namespace store::zookeeper
