// The connections on which holders receive notices.
#pragma once

#include <memory>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

/// A holder's second connection, which blocks in the holder's mailbox, so that a notice arrives at
/// once.
std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox);

/// One connection that blocks in the mailboxes of many holders, and another one that tells it of
/// new ones. In a Cluster, which refuses a wait for keys of several slots, each holder has its own.
std::shared_ptr<ListenerGroup> open_listener_group(const RedisServer& server);

}  // namespace store::redis
