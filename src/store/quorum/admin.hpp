// What operators ask of a quorum.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"

namespace store::quorum {

/// Asks each node; what a majority says is so.
std::unique_ptr<LockAdmin> open_admin(std::vector<std::unique_ptr<LockAdmin>> nodes);

/// Whether several servers together are fit to be a quorum: what each says about itself
/// (`examine_node`, called in threads, one for each node), and what only shows when all take the
/// lock `name` at once: whether they are distinct, whether their clocks agree. A holder of that
/// lock is not disturbed.
Findings examine(std::vector<std::unique_ptr<LockStore>> nodes,
                 const std::function<Findings(std::size_t, const CallLimit&)>& examine_node,
                 const LockName& name, const CallLimit& limit);

}  // namespace store::quorum
