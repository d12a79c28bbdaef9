// Who and where we are, for people who ask who holds a lock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace os {

/// LOGNAME or USER as cron and login set them, else the password database, else "uid<N>".
std::string user_name();
std::string host_name();
int process_id();
/// The effective user id, in digits.
std::string user_number();
/// Where locks of this host lie that need not outlive it: the same for cron and for a login.
std::string runtime_directory();
/// "NAME=value" each, in order; valid until somebody changes the environment.
std::vector<std::string_view> environment();
/// How many descriptors this process may have open at a time (RLIMIT_NOFILE, the soft one).
std::size_t descriptor_limit();
bool stderr_is_terminal();
bool stdin_is_terminal();

}  // namespace os
