// What a command says and exits with when the lock was not had.
#pragma once

#include "cmd/claim_options.hpp"

namespace cmd {

/// One line on stderr (none for a signal); returns the exit code.
int report_not_had(const ClaimPlan& plan, const hold::NotAcquired& why);

}  // namespace cmd
