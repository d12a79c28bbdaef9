// A lock store on one Redis (or Valkey) server: the protocol of rlock-protocol(7).
#pragma once

#include <memory>

#include "store/feature.hpp"
#include "store/quorum_node.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

inline constexpr Features features{Feature::shared,        Feature::permits,     Feature::steps,
                                   Feature::min_hold,      Feature::max_waiters, Feature::supersede,
                                   Feature::sync_replicas, Feature::local_gate};

std::unique_ptr<QuorumNode> open_store(const RedisServer& server);

}  // namespace store::redis
