// Why another user's file must not be used, as an error for people.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "os/error.hpp"

namespace os {

inline constexpr mode_t others_write = S_IWGRP | S_IWOTH;

/// Root has full power over us, so root's files are as good as our own.
inline bool is_ours_or_roots(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

/// The flags with which faccessat(2) checks the effective user; by default it checks the real one.
/// An old container profile refuses the call that takes flags.
inline int as_effective_user() {
  return ::getuid() == ::geteuid() && ::getgid() == ::getegid() ? 0 : AT_EACCESS;
}

/// An error with number 0: the text is the whole reason.
template <class... Values>
Error object(fmt::format_string<Values...> format, Values&&... values) {
  return {0, fmt::format(format, std::forward<Values>(values)...)};
}

/// Whether a user has a number in a user namespace; `uid_map` is the text of its /proc/PID/uid_map.
bool has_number(std::string_view uid_map, uid_t user);
/// The command that mends the owner, or the advice for a user namespace where no command can.
std::string mend_owner(uid_t owner, std::string mend);

/// A path that can be pasted into a shell and never ends the line.
inline std::string to_type(const std::string& path) {
  return base::shown_shell_word(path);
}

}  // namespace os
