#include "os/host.hpp"

#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace os {

std::string user_name() {
  // The environment first: the password database may be a network service away.
  for (const char* variable : {"LOGNAME", "USER"}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return value;
  }
  // Not getpwuid(3): a quorum's nodes are examined in threads.
  passwd entry{};
  passwd* found = nullptr;
  std::string text(16384, '\0');  // on the stack it would cost every run three pages
  ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  if (found != nullptr) return found->pw_name;
  return "uid" + std::to_string(::geteuid());
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

int process_id() {
  return ::getpid();
}

std::string user_number() {
  return std::to_string(::geteuid());
}

std::string runtime_directory() {
  // Not XDG_RUNTIME_DIR: cron has none, and would not meet the same user's shell.
  constexpr auto usual = "/run/lock";
  return ::access(usual, W_OK | X_OK) == 0 ? usual : "/tmp";
}

std::vector<std::string_view> environment() {
  std::vector<std::string_view> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

}  // namespace os
