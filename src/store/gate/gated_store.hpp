// Two layers: those of one host wait here, and one of them at the server.
#pragma once

#include <memory>

#include "store/lock_store.hpp"

namespace store::gate {

/// Who queues passes `gate`, a store of this host, and holds it while it waits at `server`: of all
/// that wait on this host one has a connection. It lets go of the gate with the grant, so that
/// hosts come in turns. A single attempt does not wait, and goes past the gate.
std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> gate,
                                      std::unique_ptr<LockStore> server);

}  // namespace store::gate
