#include "store/redis/server.hpp"

#include <array>

namespace store::redis {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;
using Trouble = std::optional<BadUrl>;  // nothing if all is well

Trouble take_database(std::string_view text, RedisServer& server) {
  const auto number = store::number_in(text, 0, 1'000'000);
  if (!number) return BadUrl{"the database is not a number"};
  server.access.database = *number;
  return std::nullopt;
}

Trouble take_tcp(const Url& url, RedisServer& server) {
  auto hosts = hosts_in(url.host, "6379");
  if (auto* bad = std::get_if<BadUrl>(&hosts)) return std::move(*bad);
  const auto& all = std::get<std::vector<HostPort>>(hosts);
  server.where = RedisServer::Nodes(all.begin(), all.end());
  return url.path.size() > 1 ? take_database(url.path.substr(1), server) : std::nullopt;
}

Trouble take_unix(const Url& url, RedisServer& server) {
  if (!url.host.empty() || url.path.size() < 2) {
    return BadUrl{"unix:// wants an absolute path: unix:///path"};
  }
  const auto path = percent_decoded(url.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  server.where = RedisServer::Nodes{RedisServer::Unix{*path}};
  return std::nullopt;
}

Trouble take_sentinels(const Url& url, RedisServer& server) {
  RedisServer::Sentinels sentinels;
  auto hosts = hosts_in(url.host, "26379");
  if (auto* bad = std::get_if<BadUrl>(&hosts)) return std::move(*bad);
  sentinels.nodes = std::get<std::vector<HostPort>>(std::move(hosts));
  if (url.path.size() < 2) return BadUrl{"no master's name behind the hosts"};
  const auto path = url.path.substr(1);
  const auto slash = path.find('/');
  const auto master = percent_decoded(path.substr(0, slash));
  if (!master || master->empty()) return BadUrl{"no master's name behind the hosts"};
  sentinels.master = *master;
  server.where = std::move(sentinels);
  if (slash == std::string_view::npos) return std::nullopt;
  return take_database(path.substr(slash + 1), server);
}

/// Each answers whether the option is one of its own.
bool take_sentinel_option(const std::string& name, const std::string& value, RedisServer& server) {
  auto& login = std::get<RedisServer::Sentinels>(server.where).login;
  if (name == "sentinel-user") {
    login.user = value;
  } else if (name == "sentinel-password") {
    login.password = base::Secret{value};
  } else {
    return false;
  }
  return true;
}

bool take_tls_option(const std::string& name, const std::string& value, RedisServer::Tls& tls) {
  if (name == "cacert") {
    tls.ca_file = value;
  } else if (name == "cert") {
    tls.certificate_file = value;
  } else if (name == "key") {
    tls.key_file = value;
  } else if (name == "sni") {
    tls.name = value;
  } else if (name == "insecure-skip-verify") {
    tls.verify = value != "yes";
  } else {
    return false;
  }
  return true;
}

/// The URLs of this kind, and the options behind the '?' that each takes.
struct Scheme {
  std::string_view name;
  bool tls;
  Trouble (*take)(const Url&, RedisServer&);
  const char* options;
};
constexpr auto tls_options = "cacert, cert, key, sni and insecure-skip-verify";
constexpr std::array<Scheme, 5> schemes{{
    {"redis", false, take_tcp, nullptr},
    {"rediss", true, take_tcp, tls_options},
    {"unix", false, take_unix, "db"},
    {"redis+sentinel", false, take_sentinels, "sentinel-user and sentinel-password"},
    {"rediss+sentinel", true, take_sentinels,
     "sentinel-user, sentinel-password, cacert, cert, key, sni and insecure-skip-verify"},
}};

Trouble take_options(const Scheme& scheme, const Options& options, RedisServer& server) {
  for (const auto& [name, value] : options) {
    if (scheme.tls && name == "insecure-skip-verify" && value != "yes" && value != "no") {
      return BadUrl{"insecure-skip-verify is yes or no"};
    }
    if (scheme.tls && take_tls_option(name, value, *server.access.tls)) continue;
    if (scheme.take == take_sentinels && take_sentinel_option(name, value, server)) continue;
    if (scheme.take == take_unix && name == "db") {
      if (auto bad = take_database(value, server)) return bad;
      continue;
    }
    return BadUrl{scheme.options == nullptr
                      ? std::string{scheme.name} + ":// takes no '?' options"
                      : "the only options after '?' are " + std::string{scheme.options}};
  }
  if (!server.access.tls) return std::nullopt;
  const auto& tls = *server.access.tls;
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return BadUrl{"cert and key go together"};
  }
  return std::nullopt;
}

Trouble take(const Scheme& scheme, const Url& url, RedisServer& server) {
  if (!url.has_host) return BadUrl{"no '//' behind the scheme"};
  if (scheme.tls) server.access.tls.emplace();
  if (url.has_user_info) {
    auto login = user_and_password(url);
    if (!login) return BadUrl{"a broken %-escape before the '@'"};
    server.access.login = {login->first, base::Secret{login->second}};
  }
  if (auto bad = scheme.take(url, server)) return bad;
  const auto options = options_in(url.query);
  if (!options) return BadUrl{"a broken %-escape behind the '?'"};
  return take_options(scheme, *options, server);
}

}  // namespace

std::optional<std::variant<RedisServer, BadUrl>> server_in(const Url& url) {
  for (const Scheme& scheme : schemes) {
    if (scheme.name != url.scheme) continue;
    RedisServer server;
    if (auto bad = take(scheme, url, server)) return *std::move(bad);
    return server;
  }
  return std::nullopt;
}

}  // namespace store::redis
