// What the job is told about the lock it runs under.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/lease.hpp"

namespace hold {

/// Our own environment ("NAME=value" each, in order) with RLOCK_KEY, RLOCK_TOKEN, RLOCK_FENCE,
/// RLOCK_HELD=1, and RLOCK_SERVER where one was chosen, in place of what these were before.
std::vector<std::string> job_environment(const store::Lease& lease,
                                         const std::optional<std::string>& server);

}  // namespace hold
