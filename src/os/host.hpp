// Who and where we are, for people who ask who holds a lock.
#pragma once

#include <string>

namespace os {

/// LOGNAME or USER as cron and login set them, else the password database, else "uid<N>".
std::string user_name();
std::string host_name();
int process_id();
bool stderr_is_terminal();
bool stdin_is_terminal();

}  // namespace os
