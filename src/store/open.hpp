// The only file that knows every backend.
#pragma once

#include <memory>

#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/spec.hpp"

namespace store {

/// Nothing is connected yet; the first call on the store does that.
std::unique_ptr<LockStore> open(const ServerSpec& server);
std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server);

}  // namespace store
