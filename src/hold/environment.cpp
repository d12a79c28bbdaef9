#include "hold/environment.hpp"

#include <algorithm>

#include "os/host.hpp"

namespace hold {

std::vector<std::string> job_environment(const store::Lease& lease,
                                         const std::optional<std::string>& server) {
  std::vector<std::string> ours{"RLOCK_KEY=" + lease.name.text(),
                                "RLOCK_TOKEN=" + lease.token.text(),
                                "RLOCK_FENCE=" + std::to_string(lease.fence), "RLOCK_HELD=1"};
  if (server) ours.push_back("RLOCK_SERVER=" + *server);

  std::vector<std::string> result;
  for (const std::string_view text : os::environment()) {
    const auto name = text.substr(0, text.find('=') + 1);
    const bool replaced = !name.empty() && std::any_of(ours.begin(), ours.end(), [&](auto& own) {
      return own.starts_with(name);
    });
    if (!replaced) result.emplace_back(text);
  }
  result.insert(result.end(), ours.begin(), ours.end());
  return result;
}

}  // namespace hold
