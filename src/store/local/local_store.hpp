// Locks of this host, without a server.
#pragma once

#include <memory>

#include "store/local/directory.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"

namespace store::local {

inline constexpr Features features{Feature::shared, Feature::permits, Feature::min_hold,
                                   Feature::max_waiters, Feature::supersede};

std::unique_ptr<LockStore> open_store(const LocalDirectory& directory);

}  // namespace store::local
