// The queue of one lock on the ensemble, as anybody reads it, and what is remembered of its runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "store/lock_admin.hpp"
#include "store/zookeeper/client.hpp"
#include "store/zookeeper/memory.hpp"
#include "store/zookeeper/queue_order.hpp"

namespace store::zookeeper {

/// The queue that these nodes are; a Fault if their order cannot be told.
Result<LockQueue> ordered(const Children& children);
/// The queue below the lock's node `lock`; empty if that node is not there.
Result<LockQueue> read_queue(Session& session, const std::string& lock, const CallLimit& limit);
/// The holder whose node this is, one of so many.
Holder holder_of(const Node& node, std::size_t holders);
/// The first holder; nothing if there is none, or if it cannot be read.
std::optional<Holder> first_holder(Session& session, const std::string& lock,
                                   const LockQueue& queue, const CallLimit& limit);

/// What a record of a memory is made from.
Record record_of(const Node& node);

/// All holders and waiters, and what is remembered: in a list of those in use only of one that is.
/// `server_ms` tells the servers' time.
Result<LockReport> report_on(Session& session, const std::string& lock, const LockName& name,
                             Listed which, const std::function<std::int64_t()>& server_ms,
                             const CallLimit& limit);

}  // namespace store::zookeeper
