// The holder's second connection: it sleeps in its own mailbox and hears `lost` at once.
#pragma once

#include <memory>
#include <string>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox);

}  // namespace store::redis
