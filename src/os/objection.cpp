#include "os/objection.hpp"

#include <sstream>

#include "base/fields.hpp"
#include "os/file.hpp"

namespace os {

bool has_number(std::string_view uid_map, uid_t user) {
  std::istringstream lines{std::string{uid_map}};
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  while (lines >> first >> outside >> count) {
    if (user >= first && user - first < count) return true;
  }
  return false;
}

std::string mend_owner(uid_t owner, std::string mend) {
  // The kernel shows this number for every owner without one.
  constexpr uid_t usual = 65534;
  const auto set = contents_of("/proc/sys/kernel/overflowuid");
  const auto number = set ? base::number_in<uid_t>(set->substr(0, set->find('\n'))) : std::nullopt;
  if (owner != number.value_or(usual)) return mend;
  const auto map = contents_of("/proc/self/uid_map");
  if (!map || has_number(*map, owner)) return mend;
  return "this user namespace has no number for its owner; name one that was made inside, or run "
         "rlock outside";
}

}  // namespace os
