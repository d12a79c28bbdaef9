// Those who hold a lock, as commands against them choose and name them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/settings.hpp"
#include "store/lock_admin.hpp"

namespace cmd {

/// Of an operator's command: no longer than that for one answer of a server.
os::CallLimit soon();

/// All holders, or only the one that `only` names.
std::vector<store::HolderReport> chosen_holders(const store::LockReport& report,
                                                const std::optional<store::Token>& only);
std::vector<store::Token> tokens_of(const std::vector<store::HolderReport>& holders);
/// --token, if it was given.
std::optional<store::Token> token_in(const Settings& settings);

/// "nothing was changed", and the exit code for that.
int report_nobody(const store::LockName& name, const std::optional<store::Token>& only);

/// "app@web1": who does this, for those to whom it is done.
std::string ourselves();

}  // namespace cmd
