// What operators ask of an ensemble.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& ensemble);

/// Takes and releases the lock `name`, unless somebody holds it.
Findings examine(const ZooKeeper& ensemble, const LockName& name, const CallLimit& limit);

}  // namespace store::zookeeper
