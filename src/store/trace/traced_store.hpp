// A store that tells what is asked of another, and what that answers: for -vv.
#pragma once

#include <memory>
#include <string>

#include "store/lock_store.hpp"

namespace store::trace {

/// `server` begins each line where there are several: "server 2: "; otherwise it is empty. What it
/// says holds no secret.
std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> store, std::string server);

}  // namespace store::trace
