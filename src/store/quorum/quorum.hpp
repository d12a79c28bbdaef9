// The public part of this room: a lock store made of stores (Redlock), and its operators' requests.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/quorum_node.hpp"

namespace store::quorum {

// N permits cannot be counted by majorities: N + 1 holders, with a majority of m servers each, fit
// into n servers with N permits each as soon as (N + 1) * m <= N * n. One server alone can neither
// count all waiters nor say which of them came before.
inline constexpr Features features{Feature::shared, Feature::steps, Feature::min_hold,
                                   Feature::local_gate};

/// Source: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/, with a fence: the
/// highest of the granting majority, confirmed by a majority of nodes that still hold the lock for
/// us and have issued no higher one. (Two confirming majorities share a node: the second lease
/// there was granted after the first one was confirmed, so with a higher number.) Readers share
/// nodes, a reader and a writer never do, so their majorities exclude each other. A waiter is in
/// the queue of every node (queue_wait.hpp), which is an order and a wake, never a grant.
std::unique_ptr<LockStore> open_store(std::vector<std::unique_ptr<QuorumNode>> nodes);

/// Asks each node; the majority decides.
std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes);

/// Whether several servers are fit to form a quorum: each one's own findings (`examine_node`,
/// called in one thread for each node), and those that show only when all grant the lock `name` at
/// once: whether they are distinct, and whether their clocks agree. Leaves a holder of that lock
/// alone.
Findings examine(std::vector<std::unique_ptr<QuorumNode>> nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit);

}  // namespace store::quorum
