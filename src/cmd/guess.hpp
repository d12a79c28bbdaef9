// Explains a command line without a key: which command was probably meant.
#pragma once

#include <string>
#include <string_view>

#include "cmd/settings.hpp"

namespace cmd {

/// The answer to `rlock` alone.
inline constexpr std::string_view short_help =
    "rlock runs a command while holding a lock that every machine respects.\n"
    "\n"
    "  rlock -S file: -k demo -- echo hello     try it on this host, without a server\n"
    "  rlock -S redis://HOST -k KEY -- COMMAND  hosts with the same server take turns\n"
    "  rlock list, rlock inspect KEY            see who holds a lock and who waits\n"
    "  rlock log KEY                            see how past runs ended\n"
    "\n"
    "rlock --help lists all options, rlock help COMMAND explains a command.\n";

/// "unknown command 'lst'", with the command line that was probably meant, if there is one.
std::string unknown_command(const std::string& word);

/// Throws UsageError with a proposal unless -k was given. `settings` has the options that were
/// typed before the operands.
void require_key(const Settings& settings, const Operands& operands);

}  // namespace cmd
