// What operators ask of a quorum.
#pragma once

#include <memory>
#include <vector>

#include "store/lock_admin.hpp"

namespace store::quorum {

/// Each node is asked; what a majority says is so.
std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes);

}  // namespace store::quorum
