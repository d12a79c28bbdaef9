// Two layers: a host's waiters queue here, and one of them at the server.
#pragma once

#include <memory>

#include "store/lock_store.hpp"

namespace store::gate {

/// A waiter first acquires `gate`, a store of this host, and holds it while it waits at `server`,
/// so that only one waiter of this host is connected. It releases the gate on the grant, so that
/// hosts take turns. A single attempt does not wait, and bypasses the gate.
std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> gate,
                                      std::unique_ptr<LockStore> server);

}  // namespace store::gate
