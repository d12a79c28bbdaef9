#include <pwd.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string_view>

#include "os/libraries.hpp"

namespace os {

bool loads_libraries() {
  return true;
}

void keep_command_line(const std::vector<std::string>& /*words*/) {
  // A process executed by descriptor is named after its number, in ps(1) and in logs.
  const auto* const told = std::bit_cast<const char*>(::getauxval(AT_EXECFN));
  const bool is_descriptor = told != nullptr && std::string_view{told}.starts_with("/dev/fd/");
  if (is_descriptor) ::prctl(PR_SET_NAME, program_invocation_short_name);
}

Error become_other_program() {
  return {0, "this program has all that it takes"};
}

bool plugins_may_be_asked(const std::vector<std::string>& /*hosts*/) {
  return false;  // without effect, that is
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
