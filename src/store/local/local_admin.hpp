// What operators ask of the locks of this host.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/local/directory.hpp"
#include "store/lock_admin.hpp"

namespace store::local {

std::unique_ptr<LockAdmin> open_admin(const LocalDirectory& directory);

/// Takes and releases the lock `name` to see whether that can be done here.
Findings examine(const LocalDirectory& directory, const LockName& name, const CallLimit& limit);

}  // namespace store::local
