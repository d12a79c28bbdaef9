// Interface to the other rooms: locks on ZooKeeper, a queue of ephemeral sequential nodes with the
// session as lease.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/sessions/store.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// A session ends with its process, so there are no steps; nothing stays taken without one.
inline constexpr Features features = sessions::features;

/// Source: https://zookeeper.apache.org/doc/current/recipes.html, "Locks" and "Shared Locks".
std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble);
std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& ensemble);

/// Takes and releases the lock `name`, unless somebody holds it.
Findings examine(const ZooKeeper& ensemble, const LockName& name, const CallLimit& limit);

}  // namespace store::zookeeper
