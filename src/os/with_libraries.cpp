#include <pwd.h>
#include <unistd.h>

#include "os/libraries.hpp"

namespace os {

bool loads_libraries() {
  return true;
}

void keep_command_line(const std::vector<std::string>& /*words*/) {}

Error become_other_program() {
  return {0, "this program has all that it takes"};
}

bool plugins_may_be_asked(const std::vector<std::string>& /*hosts*/) {
  return false;  // not in vain, that is
}

std::string leave_plugins_out() {
  return {};
}

std::optional<std::string> user_by_plugin() {
  // Not getpwuid(3): a quorum's nodes are examined in threads.
  passwd entry{};
  passwd* found = nullptr;
  std::string text(16384, '\0');  // on the stack it would cost every run three pages
  ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  if (found == nullptr) return std::nullopt;
  return found->pw_name;
}

}  // namespace os
