// The holders that rlock cancel and rlock force-release act on, and their kinds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/settings.hpp"
#include "store/lock_admin.hpp"

namespace cmd {

using Holders = std::vector<store::HolderReport>;
using Tokens = std::vector<store::Token>;

/// Of --token.
std::optional<store::Token> chosen_token(const Settings& settings);
/// All holders, or only the one that `only` names.
Holders chosen_holders(const store::LockReport& report, const std::optional<store::Token>& only);
Tokens tokens_of(const Holders& holders);

/// Its job has ended, and --min-hold keeps its lock.
bool is_kept(const store::Holder& holder);
/// Whether it may have a job, and an rlock that hears of us.
bool can_stop(const store::HolderReport& one);
/// Whether it looks like the lock of an `rlock acquire`, which runs no job and has ended.
bool is_step(const store::Token& token);

/// Says so; the exit code.
int report_not_held(const ServerChoice& server, const store::LockName& name,
                    const std::optional<store::Token>& only);
/// "app@web1", or "app@web1: the database moves": who asks and why, for the holder to read.
std::string who_and_why(const Settings& settings);

}  // namespace cmd
