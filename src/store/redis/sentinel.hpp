// The master that Sentinel names.
#pragma once

#include "store/redis/connection.hpp"

namespace store::redis {

/// Asks one sentinel after the other for the master, connects to it and sees that it is one: a
/// sentinel that was cut off may name yesterday's. Each gets an equal share of what is left of the
/// limit, so that one that is silent does not use it up.
std::variant<Connection, Fault> open_master(const RedisServer::Sentinels& sentinels,
                                            const RedisServer::Access& access,
                                            const CallLimit& limit);

}  // namespace store::redis
