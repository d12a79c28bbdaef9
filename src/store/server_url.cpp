#include "store/server_url.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "store/url.hpp"

namespace store {
namespace {

constexpr std::string_view hidden = "…";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view digits = "0123456789";

bool is_made_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// The query without its secrets; sets `has_unknown` if it may not be a query.
std::string shown_query(std::string_view query, bool& has_unknown) {
  std::string shown;
  while (!query.empty()) {
    const auto option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(option.size() + 1, query.size()));
    const auto name = option.substr(0, option.find('='));
    const UrlOption* known = url_option(name);
    if (known != nullptr && known->secrecy != UrlOption::Secrecy::none) continue;
    shown += shown.empty() ? '?' : '&';
    if (known != nullptr) {
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

/// Whether the host part, without user info, may be "user:password" with a missing '@'.
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

/// The text before "//", or before the first secret: "--server=redis:" in a word of a command line.
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
  // A path alone has no password.
  if (url.starts_with("file:") && url.find_first_of("@?") == url.npos) return std::string{url};
  const auto scheme = scheme_of(url);
  auto rest = url.substr(scheme.size());
  const auto mark = std::min(rest.find('?'), rest.size());
  bool has_unknown = false;
  const std::string query = shown_query(rest.substr(std::min(mark + 1, rest.size())), has_unknown);
  const auto at = rest.rfind('@');
  if (has_unknown && at != rest.npos && at > mark) {
    // Either that '?' or the '@' was part of the password.
    return std::string{scheme}.append(hidden);
  }
  rest = rest.substr(0, mark);
  rest = rest.substr(rest.rfind('@') + 1);  // the whole text if there is no '@'
  const auto hosts = rest.substr(0, rest.find('/'));
  if (may_be_secret(hosts)) return std::string{scheme}.append(hidden);
  return std::string{scheme}.append(rest).append(query);
}

/// The URLs in a text, separated by blanks. If not each word is one, the whole text is.
std::vector<std::string> urls_in(const std::string& text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> urls;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = std::min(text.find_first_not_of(blanks, at), text.size());
    at = std::min(text.find_first_of(blanks, begin), text.size());
    if (begin < at) urls.push_back(text.substr(begin, at - begin));
  }
  const auto is_url = [](const std::string& each) { return cut_url(each).has_value(); };
  const bool several = urls.size() > 1 && std::all_of(urls.begin(), urls.end(), is_url);
  if (!several) urls.assign(1, text);
  return urls;
}

}  // namespace

ServerUrl::ServerUrl(std::string text) : text_{std::move(text)} {
  for (const auto& url : urls_in(text_)) {
    without_secret_.append(without_secret_.empty() ? "" : " ").append(stripped(url));
  }
}

std::vector<ServerUrl> ServerUrl::each() const {
  auto texts = urls_in(text_);
  std::vector<ServerUrl> urls;
  urls.reserve(texts.size());
  if (texts.size() == 1) {
    urls.push_back(*this);
  } else {
    for (auto& text : texts) urls.emplace_back(std::move(text));
  }
  return urls;
}

std::string ServerUrl::shown() const {
  return base::printable(without_secret_);
}

std::string ServerUrl::shown(std::size_t most) const {
  return base::printable(without_secret_, most);
}

std::vector<TextRange> secrets_in(std::string_view word) {
  std::vector<TextRange> secrets;
  constexpr std::string_view mark = "://";
  const auto scheme = word.find(mark);
  const auto at = word.rfind('@');
  if (scheme != word.npos && at != word.npos && at > scheme) {
    const auto begin = scheme + mark.size();
    if (begin < at) secrets.push_back({begin, at});
  }
  for (const UrlOption& option : url_options) {
    if (option.secrecy != UrlOption::Secrecy::password) continue;
    const std::string name = std::string{option.name} + '=';
    for (auto found = word.find(name); found != word.npos; found = word.find(name, found + 1)) {
      // Not the end of a longer name.
      const char before = found == 0 ? '?' : word[found - 1];
      if (before == '-' || letters.find(before) != letters.npos) continue;
      const auto begin = found + name.size();
      secrets.push_back({begin, std::min(word.find('&', begin), word.size())});
    }
  }
  return secrets;
}

}  // namespace store
