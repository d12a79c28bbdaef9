#include "store/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/fields.hpp"

namespace store {
namespace {

/// Whether a name server may know it. Only a link-local address ("fe80::1%eth0") contains '%'.
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

/// Cuts off and returns the text before the next `separator`.
std::string_view next(std::string_view& text, char separator) {
  const auto part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace

const UrlOption* url_option(std::string_view name) {
  const auto* found = std::find_if(url_options.begin(), url_options.end(),
                                   [&](const UrlOption& each) { return each.name == name; });
  return found == url_options.end() ? nullptr : found;
}

std::string accepted_options(const Url& url,
                             const std::function<bool(const UrlOption&)>& is_accepted) {
  std::vector<std::string_view> accepted;
  for (const UrlOption& option : url_options) {
    if (is_accepted(option)) accepted.push_back(option.name);
  }
  if (accepted.empty()) return std::string{url.scheme} + ":// takes no '?' options";
  std::string text = "the only options after '?' are ";
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    if (i > 0) text += i + 1 == accepted.size() ? " and " : ", ";
    text += accepted[i];
  }
  return text;
}

std::optional<Url> cut_url(std::string_view url) {
  const auto colon = url.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view rest = url.substr(colon + 1);
  // "host:port" is not a URL; "file:" and "file:/path" are.
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  Url parts;
  parts.whole = url;
  parts.has_host = rest.starts_with("//");
  if (parts.has_host) rest.remove_prefix(2);
  parts.scheme = url.substr(0, colon);
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    parts.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  // The last '@' ends the user info. So a password with a raw '@' or '/' still works and, above
  // all, is never shown as a host name.
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
    if (stands_for_itself(c) || (c == '.' && !out.empty())) {  // not "..", and no hidden files
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

}  // namespace store
