// Shared libraries: OpenSSL, and the plugins that the C library looks names up with. Being ready to
// load one takes a tenth of a run's time. So a release is two programs: the one that users start is
// static and loads none; if a run needs one, the program beside it takes over (with_libraries.cpp,
// without_libraries.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/error.hpp"

namespace os {

/// Whether this program can load libraries.
bool loads_libraries();

/// Saves the command line for become_other_program(). Call before any word is overwritten. `words`
/// are the arguments without the program's name, and must outlive that call.
void keep_command_line(const std::vector<std::string>& words);

/// Executes the other program in this process, with the same arguments, environment and open files.
/// Call before doing anything that cannot be repeated. Returns only on failure.
Error become_other_program();

/// Whether a plugin may know one of these hosts or our user's name when files and name servers do
/// not.
bool plugins_may_be_asked(const std::vector<std::string>& hosts);

/// Call before getaddrinfo(3), which would load plugins even in a static program, and with them the
/// host's C library, which fits only a program built on that host. From then on getaddrinfo(3) asks
/// only files and name servers. Returns a remark for hosts that are not found; empty if no plugin
/// was left out.
std::string leave_plugins_out();

/// The name of a user who is missing in /etc/passwd. Nothing if no plugin knows it or can be asked.
std::optional<std::string> user_by_plugin();

}  // namespace os
