// What a holder's node tells it.
#pragma once

#include <memory>
#include <string>

#include "store/zookeeper/session.hpp"

namespace store::zookeeper {

/// Shares the session with the store, and its thread. `last_word` is the node to make when the job
/// has stopped after `node` was taken away.
std::unique_ptr<Listener> open_listener(std::shared_ptr<Session> session, std::string node,
                                        std::string last_word);

}  // namespace store::zookeeper
