// A store that logs the requests to another store and its answers, for -vv.
#pragma once

#include <memory>
#include <string>

#include "store/quorum_node.hpp"

namespace store::trace {

/// The lines contain no secret.
std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> store);
/// The same for one node of a quorum; each line begins with `server`: "server 2: ".
std::unique_ptr<QuorumNode> open_node(std::unique_ptr<QuorumNode> node, std::string server);

}  // namespace store::trace
