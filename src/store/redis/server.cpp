#include "store/redis/server.hpp"

#include "os/trusted_file.hpp"

namespace store {

base::Secret password_in(const std::string& contents) {
  return base::Secret{contents.substr(0, contents.find_first_of("\r\n"))};
}

base::Secret PasswordFile::password() const {
  const std::lock_guard guard{mutex_};
  return password_;
}

std::optional<base::Secret> PasswordFile::newer_than(const base::Secret& refused) {
  const std::lock_guard guard{mutex_};
  if (password_.reveal() != refused.reveal()) return password_;
  const auto contents = os::contents_of_secret(path_);
  if (!contents) return std::nullopt;
  auto read = password_in(*contents);
  // Empty while it is being written, or if it is a pipe that was read before.
  if (read.empty() || read.reveal() == refused.reveal()) return std::nullopt;
  password_ = std::move(read);
  return password_;
}

}  // namespace store

namespace store::redis {
namespace {

using Trouble = std::optional<BadUrl>;  // nothing on success

Trouble take_database(std::string_view text, RedisServer& server) {
  const auto number = number_between(text, 0, 1'000'000);
  if (!number) return BadUrl{"the database is not a number"};
  server.access.database = *number;
  return std::nullopt;
}

Trouble take_tcp(const Url& url, RedisServer& server) {
  auto hosts = hosts_in(url.host, "6379");
  if (!hosts) return std::move(hosts).error();
  server.where = RedisServer::Nodes(hosts->begin(), hosts->end());
  return url.path.size() > 1 ? take_database(url.path.substr(1), server) : std::nullopt;
}

Trouble take_unix(const Url& url, RedisServer& server) {
  if (!url.host.empty() || url.path.size() < 2) {
    return BadUrl{"unix:// needs an absolute path: unix:///path"};
  }
  const auto path = percent_decoded(url.path);
  if (!path) return BadUrl{"a broken %-escape in the path"};
  server.where = RedisServer::Nodes{RedisServer::Unix{*path}};
  return std::nullopt;
}

Trouble take_sentinels(const Url& url, RedisServer& server) {
  RedisServer::Sentinels sentinels;
  auto hosts = hosts_in(url.host, "26379");
  if (!hosts) return std::move(hosts).error();
  sentinels.nodes = *std::move(hosts);
  if (url.path.size() < 2) return BadUrl{"no name of a master after the hosts"};
  const auto path = url.path.substr(1);
  const auto slash = path.find('/');
  const auto master = percent_decoded(path.substr(0, slash));
  if (!master || master->empty()) return BadUrl{"no name of a master after the hosts"};
  sentinels.master = *master;
  server.where = std::move(sentinels);
  if (slash == std::string_view::npos) return std::nullopt;
  return take_database(path.substr(slash + 1), server);
}

/// The rules for the URLs of one scheme.
struct Form {
  Trouble (*take)(const Url&, RedisServer&);
  bool tls = false;
  std::optional<UrlOption::Group> group{};  // of options, besides those of TLS
};

bool takes(const Form& form, const UrlOption& option) {
  return option.group == form.group || (form.tls && option.group == UrlOption::Group::tls);
}

/// Only an option that the URL's scheme accepts.
Trouble take_option(const UrlOption& option, const std::string& value, RedisServer& server) {
  using Id = UrlOption::Id;
  const auto sentinel_login = [&]() -> RedisServer::Login& {
    return std::get<RedisServer::Sentinels>(server.where).login;
  };
  switch (option.id) {
    case Id::database: return take_database(value, server);
    case Id::sentinel_user: sentinel_login().user = value; break;
    case Id::sentinel_password: sentinel_login().password = base::Secret{value}; break;
    case Id::ca_file:
    case Id::certificate:
    case Id::key:
    case Id::server_name:
    case Id::skip_verify: return tls::take_option(option, value, *server.access.tls);
    case Id::of_libpq: break;
  }
  return std::nullopt;
}

Trouble take_options(const Url& url, const Form& form, RedisServer& server) {
  const auto options = options_in(url.query);
  if (!options) return BadUrl{"a broken %-escape after the '?'"};
  for (const auto& [name, value] : *options) {
    const UrlOption* option = url_option(name);
    if (option == nullptr || !takes(form, *option)) {
      return BadUrl{
          accepted_options(url, [&](const UrlOption& each) { return takes(form, each); })};
    }
    if (auto bad = take_option(*option, value, server)) return bad;
  }
  return server.access.tls ? tls::conflict_in(*server.access.tls) : std::nullopt;
}

base::Result<RedisServer, BadUrl> server_in(const Url& url, const Form& form) {
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  RedisServer server;
  if (form.tls) server.access.tls.emplace();
  if (url.has_user_info) {
    auto login = user_and_password(url);
    if (!login) return BadUrl{"a broken %-escape before the '@'"};
    server.access.login = {login->first, base::Secret{login->second}};
  }
  if (auto bad = form.take(url, server)) return *std::move(bad);
  if (auto bad = take_options(url, form, server)) return *std::move(bad);
  return server;
}

}  // namespace

base::Result<RedisServer, BadUrl> tcp_server_in(const Url& url) {
  return server_in(url, {.take = take_tcp});
}

base::Result<RedisServer, BadUrl> tls_server_in(const Url& url) {
  return server_in(url, {.take = take_tcp, .tls = true});
}

base::Result<RedisServer, BadUrl> unix_server_in(const Url& url) {
  return server_in(url, {.take = take_unix, .group = UrlOption::Group::unix_socket});
}

base::Result<RedisServer, BadUrl> sentinel_master_in(const Url& url) {
  return server_in(url, {.take = take_sentinels, .group = UrlOption::Group::sentinel});
}

base::Result<RedisServer, BadUrl> tls_sentinel_master_in(const Url& url) {
  return server_in(url, {.take = take_sentinels, .tls = true, .group = UrlOption::Group::sentinel});
}

}  // namespace store::redis
