// Whether several servers together are fit to be a quorum.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/finding.hpp"
#include "store/quorum_node.hpp"

namespace store::quorum {

/// What each says about itself (`examine_node`, called in threads, one for each node), and what
/// only shows when all take the lock `name` at once: whether they are distinct, whether their
/// clocks agree. Whoever holds it is not disturbed.
Findings examine(std::vector<std::unique_ptr<QuorumNode>> nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit);

}  // namespace store::quorum
