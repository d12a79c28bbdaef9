#include "hold/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/text.hpp"
#include "os/exec.hpp"
#include "os/host.hpp"

namespace hold {
namespace {

/// A line "token TAB server TAB key TAB fence" for each; no field has a tab or a newline.
std::string holds_with(const std::vector<store::Lease>& leases, const std::string& server) {
  const char* outer = std::getenv("RLOCK_HOLDS");
  std::string text{outer == nullptr ? "" : outer};
  for (const store::Lease& lease : leases) {
    const std::string line = fmt::format("{}\t{}\t{}\t{}", lease.token.text(), server,
                                         base::printable(lease.name.text()), lease.fence);
    // An outer run may already have listed a lock that a reentrant run holds.
    if ((text + '\n').find(line + '\n') != std::string::npos) continue;
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

template <class Strings>
std::size_t size_for_program(const Strings& strings) {
  std::size_t size = sizeof(char*);
  for (const auto& each : strings) size += each.size() + 1 + sizeof(char*);
  return size;
}

std::string fences_of(const std::vector<store::Lease>& leases) {
  std::string text;
  for (const store::Lease& lease : leases) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "\n", lease.name.text(), lease.fence);
  }
  return text;
}

}  // namespace

std::vector<OuterHold> outer_holds() {
  const char* variable = std::getenv("RLOCK_HOLDS");
  std::string_view text{variable == nullptr ? "" : variable};
  std::vector<OuterHold> result;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto first = line.find('\t');
    const auto second = first == line.npos ? line.npos : line.find('\t', first + 1);
    if (second == line.npos) continue;
    const auto third = std::min(line.find('\t', second + 1), line.size());
    const auto number = line.substr(std::min(third + 1, line.size()));
    store::Fence fence = 0;
    std::from_chars(number.data(), number.data() + number.size(), fence);
    result.push_back({store::Token::foreign(std::string{line.substr(0, first)}),
                      std::string{line.substr(first + 1, second - first - 1)},
                      std::string{line.substr(second + 1, third - second - 1)}, fence});
  }
  return result;
}

std::vector<std::string> job_environment(const std::vector<store::Lease>& leases,
                                         const ServerToTell& server,
                                         const std::optional<store::Slot>& slot) {
  const store::Lease& first = leases.front();
  const char* token = std::getenv("RLOCK_TOKEN");
  const bool is_reentrant = token != nullptr && token == first.token.text();
  std::vector<std::string> result;
  for (const std::string_view text : os::environment()) {
    const auto name = text.substr(0, text.find('='));
    // A nested run only learns that the token holds the lock; its lease lacks the rest.
    const bool is_known = is_reentrant && (name == "RLOCK_PERMIT" || name == "RLOCK_RESOURCE");
    const bool replaced =
        (server.url && name == "RLOCK_SERVER") ||
        (server.password_file && name == "RLOCK_PASSWORD_FILE") ||
        std::find(job_variables.begin(), job_variables.end(), name) != job_variables.end();
    if (!replaced || is_known) result.emplace_back(text);
  }
  if (leases.size() == 1) {
    result.push_back("RLOCK_KEY=" + first.name.text());
    result.push_back("RLOCK_FENCE=" + std::to_string(first.fence));
    if (first.permit > 0) result.push_back("RLOCK_PERMIT=" + std::to_string(first.permit));
    if (!first.resource.empty()) result.push_back("RLOCK_RESOURCE=" + first.resource);
  } else {
    result.push_back("RLOCK_FENCES=" + fences_of(leases));
  }
  result.push_back("RLOCK_TOKEN=" + first.token.text());
  result.emplace_back("RLOCK_HELD=1");
  result.push_back("RLOCK_HOLDS=" + holds_with(leases, server.shown));
  if (server.url) result.push_back("RLOCK_SERVER=" + server.url->reveal());
  if (server.password_file) result.push_back("RLOCK_PASSWORD_FILE=" + *server.password_file);
  if (slot) {
    result.push_back("RLOCK_SLOT=" + slot->id);
    result.push_back("RLOCK_ATTEMPT=" + std::to_string(first.attempt));
  }
  return result;
}

std::optional<std::string> too_much_to_tell(const std::vector<store::Claim>& claims,
                                            const std::vector<std::string>& command,
                                            const ServerToTell& server,
                                            const std::optional<store::Slot>& slot) {
  const auto longest = os::longest_string_of_program();
  const auto most = os::longest_strings_of_program();
  // Almost every run is far below both limits.
  std::size_t all = size_for_program(os::environment()) + size_for_program(command);
  for (const auto& claim : claims) all += claim.name.text().size() + claim.token.text().size();
  if (all < longest / 8) return std::nullopt;

  std::vector<store::Lease> leases;
  leases.reserve(claims.size());
  constexpr auto fence = std::numeric_limits<store::Fence>::max();
  for (const auto& claim : claims) {
    leases.push_back({claim.name, claim.token, claim.ttl, store::Deadline::never(), fence, {}});
  }
  const auto environment = job_environment(leases, server, slot);
  for (const std::string& text : environment) {
    if (text.size() < longest) continue;
    return fmt::format("the job's variable {} would have {} bytes, and the system allows {}",
                       base::printable(text.substr(0, text.find('=')), 100), text.size(),
                       longest - 1);
  }
  all = size_for_program(environment) + size_for_program(command);
  if (all <= most) return std::nullopt;
  return fmt::format(
      "the job's variables and arguments would have {} bytes together, and the system allows {}",
      all, most);
}

}  // namespace hold
