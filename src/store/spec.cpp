#include "store/spec.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/match.hpp"
#include "base/text.hpp"

namespace store {
namespace {

/// One URL, cut but not yet understood. Views into the text it was cut from.
struct Parts {
  std::string_view scheme;
  std::string_view user_info;
  bool has_user_info = false;
  std::string_view host;  // what stands between the user info and the path
  std::string_view path;  // with its leading '/'
  std::string_view query;
};

std::optional<Parts> cut(std::string_view url) {
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  Parts parts;
  parts.scheme = url.substr(0, colon);
  std::string_view rest = url.substr(colon + 3);
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
    if (error != std::errc{} || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

std::optional<int> number_in(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

/// Nothing if all is well.
std::optional<BadUrl> take_user_info(const Parts& parts, RedisServer& server) {
  if (!parts.has_user_info) return std::nullopt;
  const auto colon = parts.user_info.find(':');
  const bool only_user = colon == std::string_view::npos;
  const auto user = percent_decoded(parts.user_info.substr(0, colon));
  const auto password =
      percent_decoded(only_user ? std::string_view{} : parts.user_info.substr(colon + 1));
  if (!user || !password) return BadUrl{"a broken %-escape before the '@'"};
  server.user = *user;
  server.password = base::Secret{*password};
  return std::nullopt;
}

std::optional<BadUrl> take_database(std::string_view text, RedisServer& server) {
  const auto number = number_in(text, 0, 1'000'000);
  if (!number) return BadUrl{"the database is not a number"};
  server.database = *number;
  return std::nullopt;
}

std::optional<BadUrl> take_tcp(const Parts& parts, RedisServer& server) {
  if (!parts.query.empty()) return BadUrl{"redis:// takes no '?' options"};
  std::string_view host = parts.host;
  std::string_view port;
  if (host.starts_with('[')) {  // an IPv6 address
    const auto bracket = host.find(']');
    if (bracket == std::string_view::npos) return BadUrl{"a '[' without its ']'"};
    port = host.substr(bracket + 1);
    host = host.substr(1, bracket - 1);
  } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty()) return BadUrl{"no host"};
  if (!port.empty() && (port.front() != ':' || !number_in(port.substr(1), 1, 65535))) {
    return BadUrl{"the port is not a number from 1 to 65535"};
  }
  server.endpoint =
      RedisServer::Tcp{std::string{host}, port.empty() ? "6379" : std::string{port.substr(1)}};
  return parts.path.size() > 1 ? take_database(parts.path.substr(1), server) : std::nullopt;
}

std::optional<BadUrl> take_unix(const Parts& parts, RedisServer& server) {
  if (!parts.host.empty() || parts.path.size() < 2) {
    return BadUrl{"unix:// wants an absolute path: unix:///path"};
  }
  const auto path = percent_decoded(parts.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  server.endpoint = RedisServer::Unix{*path};
  if (parts.query.empty()) return std::nullopt;
  if (!parts.query.starts_with("db=")) return BadUrl{"the only option after '?' is db=N"};
  return take_database(parts.query.substr(3), server);
}

}  // namespace

std::variant<ServerSpec, BadUrl> parse_server(std::string_view url) {
  const auto parts = cut(url);
  if (!parts) return BadUrl{"no scheme"};
  RedisServer server;
  std::optional<BadUrl> bad = take_user_info(*parts, server);
  if (!bad && parts->scheme == "redis") {
    bad = take_tcp(*parts, server);
  } else if (!bad && parts->scheme == "unix") {
    bad = take_unix(*parts, server);
  } else if (!bad) {
    bad = BadUrl{"unknown scheme '" + base::printable(parts->scheme, 40) + "'"};
  }
  if (bad) return *bad;
  return ServerSpec{std::move(server)};
}

std::string without_secret(std::string_view url) {
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) return std::string{url};
  // A garbled URL may hold one, too: without a scheme nothing before the '@' is known to be none.
  const auto colon = url.find("://");
  const bool has_scheme = colon != std::string_view::npos && colon < at;
  return std::string{has_scheme ? url.substr(0, colon + 3) : ""}.append(url.substr(at + 1));
}

void default_password(ServerSpec& server, const base::Secret& password) {
  base::match(server, [&](RedisServer& redis) {
    if (redis.password.empty()) redis.password = password;
  });
}

}  // namespace store
