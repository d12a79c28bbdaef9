// What the host knows: who and where we are, the environment, limits, random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace os {

/// LOGNAME or USER as cron and login set them, else as /etc/passwd knows it.
std::optional<std::string> user_name_in_files();
/// That one, else as another service of nsswitch.conf(5) knows it, else "uid<N>".
std::string user_name();
std::string host_name();
int process_id();
/// The effective user id, in digits.
std::string user_number();
/// For what need not outlive this host's uptime: "/run/lock", or "/tmp". Any user can make a name
/// there.
std::string shared_runtime_directory();
/// One where only we can make a name. Root's is "/run". Another user's is what XDG_RUNTIME_DIR
/// names in a session: it is there without the variable, too, but goes with the last session.
struct OwnRuntimeDirectory {
  std::string path;
  bool lasts;
};
std::optional<OwnRuntimeDirectory> own_runtime_directory();
/// "NAME=value" each, in order; valid until the environment changes.
std::vector<std::string_view> environment();
/// How many descriptors this process may have open at a time (RLIMIT_NOFILE, the soft one).
std::size_t descriptor_limit();

/// `bytes` random bytes of getrandom(2) as lower-case hex digits.
std::string random_hex(std::size_t bytes);

/// Uniform in [low, high]; for jitter.
std::int64_t random_between(std::int64_t low, std::int64_t high);

}  // namespace os
