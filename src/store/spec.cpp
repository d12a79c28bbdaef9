#include "store/spec.hpp"

#include <algorithm>
#include <optional>

#include "base/match.hpp"
#include "base/text.hpp"
#include "store/url.hpp"

namespace store {
namespace {

/// Nothing if all is well.
std::optional<BadUrl> take_user_info(const Url& parts, RedisServer& server) {
  if (!parts.has_user_info) return std::nullopt;
  const auto colon = parts.user_info.find(':');
  const bool only_user = colon == std::string_view::npos;
  const auto user = percent_decoded(parts.user_info.substr(0, colon));
  const auto password =
      percent_decoded(only_user ? std::string_view{} : parts.user_info.substr(colon + 1));
  if (!user || !password) return BadUrl{"a broken %-escape before the '@'"};
  server.login = {*user, base::Secret{*password}};
  return std::nullopt;
}

std::optional<BadUrl> take_database(std::string_view text, RedisServer& server) {
  const auto number = number_in(text, 0, 1'000'000);
  if (!number) return BadUrl{"the database is not a number"};
  server.database = *number;
  return std::nullopt;
}

/// "host", "host:port", "[IPv6]:port"
std::variant<RedisServer::Tcp, BadUrl> tcp_in(std::string_view host, std::string_view usual_port) {
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
  return RedisServer::Tcp{std::string{host},
                          std::string{port.empty() ? usual_port : port.substr(1)}};
}

/// "host[:port],host[:port]...", at least one.
std::variant<std::vector<RedisServer::Tcp>, BadUrl> hosts_in(std::string_view text,
                                                             std::string_view usual_port) {
  std::vector<RedisServer::Tcp> hosts;
  do {
    const auto each = text.substr(0, text.find(','));
    text.remove_prefix(std::min(each.size() + 1, text.size()));
    auto tcp = tcp_in(each, usual_port);
    if (auto* bad = std::get_if<BadUrl>(&tcp)) return std::move(*bad);
    hosts.push_back(std::get<RedisServer::Tcp>(std::move(tcp)));
  } while (!text.empty());
  return hosts;
}

std::optional<BadUrl> take_tcp(const Url& parts, RedisServer& server) {
  if (!parts.query.empty()) return BadUrl{"redis:// takes no '?' options"};
  auto hosts = hosts_in(parts.host, "6379");
  if (auto* bad = std::get_if<BadUrl>(&hosts)) return std::move(*bad);
  const auto& all = std::get<std::vector<RedisServer::Tcp>>(hosts);
  server.where = RedisServer::Nodes(all.begin(), all.end());
  return parts.path.size() > 1 ? take_database(parts.path.substr(1), server) : std::nullopt;
}

std::optional<BadUrl> take_unix(const Url& parts, RedisServer& server) {
  if (!parts.host.empty() || parts.path.size() < 2) {
    return BadUrl{"unix:// wants an absolute path: unix:///path"};
  }
  const auto path = percent_decoded(parts.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  server.where = RedisServer::Nodes{RedisServer::Unix{*path}};
  if (parts.query.empty()) return std::nullopt;
  if (!parts.query.starts_with("db=")) return BadUrl{"the only option after '?' is db=N"};
  return take_database(parts.query.substr(3), server);
}

/// "sentinel-user=U&sentinel-password=P"
std::optional<BadUrl> take_sentinel_login(std::string_view query, RedisServer::Login& login) {
  while (!query.empty()) {
    const auto option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(option.size() + 1, query.size()));
    const auto equals = std::min(option.find('='), option.size());
    const auto value = percent_decoded(option.substr(std::min(equals + 1, option.size())));
    if (!value) return BadUrl{"a broken %-escape behind the '?'"};
    if (option.substr(0, equals) == "sentinel-user") {
      login.user = *value;
    } else if (option.substr(0, equals) == "sentinel-password") {
      login.password = base::Secret{*value};
    } else {
      return BadUrl{"the only options after '?' are sentinel-user and sentinel-password"};
    }
  }
  return std::nullopt;
}

std::optional<BadUrl> take_sentinels(const Url& parts, RedisServer& server) {
  RedisServer::Sentinels sentinels;
  auto hosts = hosts_in(parts.host, "26379");
  if (auto* bad = std::get_if<BadUrl>(&hosts)) return std::move(*bad);
  sentinels.nodes = std::get<std::vector<RedisServer::Tcp>>(std::move(hosts));
  if (parts.path.size() < 2) return BadUrl{"no master's name behind the hosts"};
  const auto path = parts.path.substr(1);
  const auto slash = path.find('/');
  const auto master = percent_decoded(path.substr(0, slash));
  if (!master || master->empty()) return BadUrl{"no master's name behind the hosts"};
  sentinels.master = *master;
  if (auto bad = take_sentinel_login(parts.query, sentinels.login)) return bad;
  server.where = std::move(sentinels);
  if (slash == std::string_view::npos) return std::nullopt;
  return take_database(path.substr(slash + 1), server);
}

}  // namespace

std::variant<ServerSpec, BadUrl> parse_server(std::string_view url) {
  const auto parts = cut_url(url);
  if (!parts) return BadUrl{"no scheme"};
  RedisServer server;
  std::optional<BadUrl> bad = take_user_info(*parts, server);
  if (!bad && parts->scheme == "redis") {
    bad = take_tcp(*parts, server);
  } else if (!bad && parts->scheme == "unix") {
    bad = take_unix(*parts, server);
  } else if (!bad && parts->scheme == "redis+sentinel") {
    bad = take_sentinels(*parts, server);
  } else if (!bad) {
    bad = BadUrl{"unknown scheme '" + base::printable(parts->scheme, 40) + "'"};
  }
  if (bad) return *bad;
  return ServerSpec{std::move(server)};
}

std::string without_secret(std::string_view url) {
  if (const auto secret = url.find("sentinel-password="); secret != std::string_view::npos) {
    url = url.substr(0, std::min(url.rfind('?', secret), secret));
  }
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) return std::string{url};
  // A garbled URL may hold one, too: without a scheme nothing before the '@' is known to be none.
  const auto colon = url.find("://");
  const bool has_scheme = colon != std::string_view::npos && colon < at;
  return std::string{has_scheme ? url.substr(0, colon + 3) : ""}.append(url.substr(at + 1));
}

void default_password(ServerSpec& server, const base::Secret& password) {
  base::match(server, [&](RedisServer& redis) {
    if (redis.login.password.empty()) redis.login.password = password;
  });
}

}  // namespace store
