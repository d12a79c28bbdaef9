#include "store/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/fields.hpp"

namespace store {
namespace {

/// Whether a name server may know it. Only the address of a link ("fe80::1%eth0") has a '%'.
bool may_be_host(std::string_view host, bool is_address) {
  return std::none_of(host.begin(), host.end(), [&](char c) {
    return (c >= 0 && c <= ' ') || c == 0x7f || (c == '%' && !is_address);
  });
}

base::Result<HostPort, BadUrl> host_in(std::string_view host, std::string_view usual_port) {
  std::string_view port;
  const bool bracketed = host.starts_with('[');
  if (bracketed) {  // an IPv6 address
    const auto bracket = host.find(']');
    if (bracket == std::string_view::npos) return BadUrl{"a '[' without its ']'"};
    port = host.substr(bracket + 1);
    host = host.substr(1, bracket - 1);
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty()) return BadUrl{"no host"};
  if (!may_be_host(host, bracketed)) {
    return BadUrl{"a blank, a control character or a %-escape in a host"};
  }
  if (!port.empty() && (port.front() != ':' || !number_between(port.substr(1), 1, 65535))) {
    return BadUrl{"the port is not a number from 1 to 65535"};
  }
  return HostPort{std::string{host}, std::string{port.empty() ? usual_port : port.substr(1)}};
}

bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == ':' || c == '+' || c == '@' || c == '=' || c == ',';
}

/// Cuts off what stands before the next `separator`.
std::string_view next(std::string_view& text, char separator) {
  const auto part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

constexpr std::string_view hidden = "…";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view digits = "0123456789";

bool is_made_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// The query as it may be shown; `has_unknown` if it may be none.
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

const UrlOption* url_option(std::string_view name) {
  const auto* found = std::find_if(url_options.begin(), url_options.end(),
                                   [&](const UrlOption& each) { return each.name == name; });
  return found == url_options.end() ? nullptr : found;
}

std::optional<Url> cut_url(std::string_view url) {
  const auto colon = url.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = url.substr(colon + 1);
  // "host:port" is no URL, "file:" and "file:/path" are.
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  Url parts;
  parts.has_host = rest.starts_with("//");
  if (parts.has_host) rest.remove_prefix(2);
  parts.scheme = url.substr(0, colon);
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    parts.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  // The last '@' ends the user info, so that a password with a raw '@' or '/' in it still works
  // and, above all, is never taken for a host name and shown.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    parts.user_info = rest.substr(0, at);
    parts.has_user_info = true;
    rest = rest.substr(at + 1);
  }
  const auto slash = std::min(rest.find('/'), rest.size());
  parts.host = rest.substr(0, slash);
  parts.path = rest.substr(slash);
  return parts;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    if (text.size() < 3) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    if (error != std::errc{} || end != text.data() + 3 || value == 0) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (stands_for_itself(c) || (c == '.' && !out.empty())) {  // not "..", and nothing hidden
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<int> number_between(std::string_view text, int least, int most) {
  const auto value = base::number_in<int>(text);
  return value >= least && value <= most ? value : std::nullopt;
}

base::Result<std::vector<HostPort>, BadUrl> hosts_in(std::string_view text,
                                                     std::string_view usual_port) {
  std::vector<HostPort> hosts;
  do {
    auto host = host_in(next(text, ','), usual_port);
    if (!host) return std::move(host).error();
    hosts.push_back(*std::move(host));
  } while (!text.empty());
  return hosts;
}

std::optional<std::pair<std::string, std::string>> user_and_password(const Url& url) {
  std::string_view rest = url.user_info;
  const auto user = percent_decoded(next(rest, ':'));
  const auto password = percent_decoded(rest);
  if (!user || !password) return std::nullopt;
  return std::pair{*user, *password};
}

std::optional<std::vector<std::pair<std::string, std::string>>> options_in(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> options;
  while (!query.empty()) {
    std::string_view value = next(query, '&');
    const std::string name{next(value, '=')};
    const auto decoded = percent_decoded(value);
    if (!decoded) return std::nullopt;
    options.emplace_back(name, *decoded);
  }
  return options;
}

std::vector<std::string> urls_in(const std::string& text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> urls;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = std::min(text.find_first_not_of(blanks, at), text.size());
    at = std::min(text.find_first_of(blanks, begin), text.size());
    if (begin < at) urls.push_back(text.substr(begin, at - begin));
  }
  const bool all = std::all_of(urls.begin(), urls.end(),
                               [](const std::string& each) { return cut_url(each).has_value(); });
  return urls.size() > 1 && all ? urls : std::vector{text};
}

std::string without_secret(const std::string& text) {
  std::string result;
  for (const auto& url : urls_in(text)) {
    result.append(result.empty() ? "" : " ").append(stripped(url));
  }
  return result;
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
      const auto begin = found + name.size();
      secrets.push_back({begin, std::min(word.find('&', begin), word.size())});
    }
  }
  return secrets;
}

}  // namespace store
