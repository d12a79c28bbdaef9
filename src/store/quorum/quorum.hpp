// What others know of this room: a lock store made of stores (Redlock), and what operators ask of
// it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/quorum_node.hpp"

namespace store::quorum {

inline constexpr Features features{Feature::steps, Feature::min_hold, Feature::local_gate,
                                   Feature::tell_waiters};

/// Source: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/, with a fence: the
/// highest of the granting majority, confirmed by a majority of nodes that still hold the lock for
/// us and have given no higher one. (Two confirming majorities meet in a node: the second lease
/// there was granted after the first one was confirmed, so with a higher number.) Who waits stands
/// in the queue of every node (queue_wait.hpp): that is an order and a wake, and never a grant.
std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<QuorumNode>> nodes);

/// Asks each node; what a majority says is so.
std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes);

/// Whether several servers together are fit to be a quorum: what each says about itself
/// (`examine_node`, called in threads, one for each node), and what only shows when all take the
/// lock `name` at once: whether they are distinct, whether their clocks agree. A holder of that
/// lock is not disturbed.
Findings examine(std::vector<std::unique_ptr<QuorumNode>> nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit);

}  // namespace store::quorum
