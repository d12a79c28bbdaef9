// A lock store on ZooKeeper: a line of ephemeral sequential nodes, the session as lease.
#pragma once

#include <memory>

#include "store/lock_store.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// A session ends with its process, so there are no steps; nothing stays taken without one.
inline constexpr Features features{Feature::shared, Feature::local_gate};

/// Source: https://zookeeper.apache.org/doc/current/recipes.html, "Locks" and "Shared Locks".
std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble);

}  // namespace store::zookeeper
