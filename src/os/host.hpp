// Facts about the host: user, host name, environment, limits, random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace os {

/// LOGNAME or USER, as cron and login set them, if printable, or else the name in /etc/passwd.
std::optional<std::string> user_name_in_files();
/// The same, or else the name from another service of nsswitch.conf(5), or else "uid<N>".
std::string user_name();
std::string host_name();
int process_id();
/// The effective user id, in digits.
std::string user_number();
/// A directory for files that may vanish at reboot: "/run/lock", or "/tmp". Any user can make a
/// name there.
std::string shared_runtime_directory();
/// A directory where only we can make names: "/run" for root. For other users it is the one that
/// XDG_RUNTIME_DIR names in a session. It exists without the variable, but goes with the last
/// session.
struct OwnRuntimeDirectory {
  std::string path;
  bool lasts;
};
std::optional<OwnRuntimeDirectory> own_runtime_directory();
/// "NAME=value" each, in order; valid until the environment changes.
std::vector<std::string_view> environment();
/// How many descriptors this process may have open at once (the soft RLIMIT_NOFILE).
std::size_t descriptor_limit();

/// `bytes` random bytes from getrandom(2) as lower-case hex digits.
std::string random_hex(std::size_t bytes);

/// Uniform in [low, high]; for jitter.
std::int64_t random_between(std::int64_t low, std::int64_t high);

}  // namespace os
