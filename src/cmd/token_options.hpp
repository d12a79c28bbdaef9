// Which lock, and the token that proves holding it: refresh, release and check.
#pragma once

#include <functional>
#include <variant>

#include "cmd/plan.hpp"

namespace cmd {

/// -k (else RLOCK_KEY, else the keys of RLOCK_FENCES) and --token (else RLOCK_TOKEN).
void declare_token(Settings& settings);
/// Throws Refusal.
TokenPlan understand_token(const Settings& settings, const std::vector<std::string>& operands);

/// What one lock's turn came to: done, or the exit code (it has been said why).
using Step = std::function<std::optional<int>(store::LockStore&, const store::LockName&,
                                              const os::CallLimit&)>;
/// Takes `step` for every key, also behind one that failed; exits as the first failure did.
int for_each_key(const TokenPlan& plan, const Step& step);

/// Says whose the lock is, if not the token's.
int report_not_ours(const TokenPlan& plan, store::LockStore& store, const store::LockName& name,
                    const os::CallLimit& limit);
int report_elsewhere(const store::LockName& name, const std::optional<store::Holder>& occupant);

}  // namespace cmd
