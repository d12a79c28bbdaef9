// Interface to the other rooms: locks on etcd, a queue of keys in the order of their creation, with
// an etcd lease as lease.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/etcd/cluster.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/sessions/store.hpp"

namespace store::etcd {

/// A session ends with its process, so there are no steps; nothing stays taken without one.
inline constexpr Features features = sessions::features_with_time;

std::unique_ptr<LockStore> open_store(const Etcd& cluster);
std::unique_ptr<LockAdmin> open_admin(const Etcd& cluster);

/// Takes and releases the lock `name`, unless somebody holds it.
Findings examine(const Etcd& cluster, const LockName& name, const CallLimit& limit);

}  // namespace store::etcd
