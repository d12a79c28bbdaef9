// A run inside a job that holds the same locks already.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cmd/claim_options.hpp"
#include "hold/environment.hpp"

namespace cmd {

/// The locks of `plan` that a run around us holds, as far as our environment says.
struct OuterLocks {
  std::vector<hold::OuterHold> holds;  // of the keys below, in that order
  std::vector<store::LockName> keys;   // held by them
  bool all;                            // of the plan's keys
};
OuterLocks outer_locks(const ClaimPlan& plan);
/// Of all runs that this process is part of: who waits for one of them waits for itself.
std::vector<store::Token> outer_tokens();

/// Asks the server whether those locks still are the outer runs', and returns their leases, which
/// the outer runs refresh; else the exit code, and it has been said why.
std::variant<std::vector<store::Lease>, int> verify(const OuterLocks& outer, const ClaimPlan& plan);

/// Whether the outer runs hold any of those locks still, as far as the server answers: a daemon may
/// have outlived the run that it was started in.
bool any_still_held(const OuterLocks& outer, const ClaimPlan& plan);
/// A run that wants the lock it runs under would wait for itself: says so.
void report_nested(const OuterLocks& outer);

}  // namespace cmd
