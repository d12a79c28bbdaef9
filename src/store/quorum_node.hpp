// A store that can be one of several, which together are a quorum.
#pragma once

#include "store/lock_store.hpp"

namespace store {

class QuorumNode : public LockStore {
 public:
  /// Makes `lease.fence` the fence of the lease's grant here, if its token still holds the lock and
  /// no later fence was ever given; NotOurs otherwise.
  virtual Renewal raise_fence(const Lease& lease, const CallLimit& limit) = 0;
};

}  // namespace store
