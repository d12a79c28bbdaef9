// Interface to the other rooms: locks that are queues of nodes, each of which ends with its owner's
// session. The session is the lease.
#pragma once

#include <memory>

#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/sessions/session.hpp"

namespace store::sessions {

/// The abilities of every kind of server with sessions.
inline constexpr Features features{Feature::shared, Feature::permits, Feature::max_waiters,
                                   Feature::supersede, Feature::local_gate};
/// Of one whose nodes can also last for a time of their own.
inline constexpr Features features_with_time{
    Feature::shared,      Feature::permits,   Feature::steps,     Feature::min_hold,
    Feature::max_waiters, Feature::supersede, Feature::local_gate};

/// Source: https://zookeeper.apache.org/doc/current/recipes.html, "Locks" and "Shared Locks".
std::unique_ptr<LockStore> open_store(OpenSession open);
std::unique_ptr<LockAdmin> open_admin(OpenSession open);

}  // namespace store::sessions
