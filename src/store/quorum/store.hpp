// A lock store made of stores: Redlock.
#pragma once

#include <memory>
#include <vector>

#include "store/lock_store.hpp"

namespace store::quorum {

/// No queue: the nodes would not agree on the first waiter.
inline constexpr Features features{Feature::steps, Feature::min_hold, Feature::local_gate};

/// Source: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/, with a fence: the
/// highest of the granting majority, confirmed by a majority of nodes that still hold the lock for
/// us and have given no higher one. (Two confirming majorities meet in a node: the second lease
/// there was granted after the first one was confirmed, so with a higher number.)
std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<LockStore>> nodes);

}  // namespace store::quorum
