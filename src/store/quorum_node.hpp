// A lock server that can be one node of a quorum.
#pragma once

#include "store/lock_store.hpp"

namespace store {

/// A LockStore that also obeys the `bid` in a Claim, so that the nodes agree on the order of their
/// queues and on the fence.
class QuorumNode : public LockStore {
 public:
  /// Sets the fence of the lease's grant on this node to `lease.fence`, if the lease's token still
  /// holds the lock and the node has issued no later fence; NotOurs otherwise. The same applies to
  /// the number of the run for the claim's slot.
  virtual Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) = 0;
};

}  // namespace store
