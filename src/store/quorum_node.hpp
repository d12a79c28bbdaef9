// A lock server that can be one node of a quorum.
#pragma once

#include "store/lock_store.hpp"

namespace store {

/// A LockStore that also answers to the `bid` in a Claim, so that the nodes agree on the order of
/// their queues and on the fence.
class QuorumNode : public LockStore {
 public:
  /// Makes `lease.fence` the fence of the lease's grant on this node, if the lease's token still
  /// holds the lock and the node has given no later fence; NotOurs otherwise. The number of the run
  /// for the claim's slot follows the same rule.
  virtual Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) = 0;
};

}  // namespace store
