// The public part of this room: locks on one Redis (or Valkey) server, in the protocol of
// rlock-protocol(7).
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/quorum_node.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

inline constexpr Features features{Feature::shared,        Feature::permits,     Feature::steps,
                                   Feature::min_hold,      Feature::max_waiters, Feature::supersede,
                                   Feature::sync_replicas, Feature::local_gate};

std::unique_ptr<QuorumNode> open_store(const RedisServer& server);
std::unique_ptr<LockAdmin> open_admin(const RedisServer& server);

/// Examines the server, and acquires and releases the lock `name` for a moment, as a run does,
/// unless it is held. A request that the server's access rules forbid is also a finding.
Findings examine(const RedisServer& server, const LockName& name, const CallLimit& limit);

}  // namespace store::redis
