// The interface of this room: locks of this host, without a server.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/local/directory.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"

namespace store::local {

inline constexpr Features features{Feature::shared, Feature::permits, Feature::min_hold,
                                   Feature::max_waiters, Feature::supersede};

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory);
/// The requests of operators.
std::unique_ptr<LockAdmin> open_admin(const LocalDirectory& directory);

/// Takes and releases the lock `name` to see whether that can be done here.
Findings examine(const LocalDirectory& directory, const LockName& name, const CallLimit& limit);

}  // namespace store::local
