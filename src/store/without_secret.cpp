#include <algorithm>
#include <array>

#include "store/spec.hpp"

namespace store {
namespace {

constexpr std::string_view hidden = "…";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view digits = "0123456789";

// Behind the '?'. What is no such option may be a password with a '?' in it.
constexpr std::array<std::string_view, 6> harmless{"db",  "cacert", "cert",
                                                   "key", "sni",    "insecure-skip-verify"};
constexpr std::array<std::string_view, 2> secret{"sentinel-user", "sentinel-password"};

bool is_made_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

/// The query as it may be shown; `has_unknown` if it may be none.
std::string shown_query(std::string_view query, bool& has_unknown) {
  std::string shown;
  while (!query.empty()) {
    const auto option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(option.size() + 1, query.size()));
    const auto name = option.substr(0, option.find('='));
    if (is_one_of(name, secret)) continue;
    shown += shown.empty() ? '?' : '&';
    if (is_one_of(name, harmless)) {
      shown += option;
      continue;
    }
    has_unknown = true;
    const bool is_name = is_made_of(name, letters) || name.starts_with("sentinel-");
    if (is_name && name.size() < option.size()) shown.append(name) += '=';
    shown += hidden;
  }
  return shown;
}

/// Whether what stands where hosts do, without user info, can be "user:password" whose '@' is
/// missing.
bool may_be_secret(std::string_view hosts) {
  constexpr std::size_t longest_port = 5;
  while (!hosts.empty()) {
    const auto host = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
    const auto bracket = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
    const auto colon = host.find(':', bracket);
    if (colon == std::string_view::npos) continue;
    const auto port = host.substr(colon + 1);
    if (colon == 0 || port.size() > longest_port || !is_made_of(port, digits)) return true;
  }
  return false;
}

/// What stands before "//", or before the first secret: "--server=redis:" in a word of a command
/// line.
std::string_view scheme_of(std::string_view url) {
  const auto end = url.find("://");
  if (end == std::string_view::npos) return {};
  const auto scheme = url.substr(0, end + 3);
  static constexpr std::string_view more = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-=:/";
  const bool is_scheme = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return letters.find(c) != letters.npos || more.find(c) != more.npos;
  });
  return is_scheme && scheme.find(':') == end ? scheme : std::string_view{};
}

std::string stripped(std::string_view url) {
  const auto scheme = scheme_of(url);
  auto rest = url.substr(scheme.size());
  const auto mark = std::min(rest.find('?'), rest.size());
  bool has_unknown = false;
  const std::string query = shown_query(rest.substr(std::min(mark + 1, rest.size())), has_unknown);
  const auto at = rest.rfind('@');
  if (has_unknown && at != rest.npos && at > mark) {
    // Either that '?' stood in the password, or the '@' does.
    return std::string{scheme}.append(hidden);
  }
  rest = rest.substr(0, mark);
  rest = rest.substr(rest.rfind('@') + 1);  // all of it, if there is none
  const auto hosts = rest.substr(0, rest.find('/'));
  if (may_be_secret(hosts)) return std::string{scheme}.append(hidden);
  return std::string{scheme}.append(rest).append(query);
}

}  // namespace

std::string without_secret(const std::string& text) {
  std::string result;
  for (const auto& url : urls_in(text)) {
    result.append(result.empty() ? "" : " ").append(stripped(url));
  }
  return result;
}

}  // namespace store
