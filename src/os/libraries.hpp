// Shared libraries: OpenSSL, and the plugins that the C library looks names up with. To be ready to
// load one is a tenth of the time of a run. So a release is two programs: the one that people start
// is static and can load none; where a run needs one, the other one takes over, which lies beside
// it (with_libraries.cpp, without_libraries.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/error.hpp"

namespace os {

/// Whether this is a program that can.
bool loads_libraries();

/// Remembers the command line for become_other_program(): before any word is overwritten. `words`
/// are those behind the program's name, and must outlive the call.
void keep_command_line(const std::vector<std::string>& words);

/// The other program in this process, with the same arguments, environment and open files. Only
/// while nothing was read or done that cannot be a second time. Returns only if that cannot be.
Error become_other_program();

/// Whether a plugin, and no file nor name server, might know one of these hosts or our user's name.
bool plugins_may_be_asked(const std::vector<std::string>& hosts);

/// To be called before getaddrinfo(3): a static program's would load plugins nevertheless, and the
/// host's C library with them, beside the one in it, which fits only that of the host where it was
/// built. From then on it asks files and name servers only. Returns what to say of that where a
/// name is not found: empty if nobody was left out.
std::string leave_plugins_out();

/// The name of a user whom /etc/passwd does not know. Nothing if nobody does, or none can be asked.
std::optional<std::string> user_by_plugin();

}  // namespace os
