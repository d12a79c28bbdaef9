#include "store/backend.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/log.hpp"
#include "store/etcd/etcd.hpp"
#include "store/gate/gated_store.hpp"
#include "store/local/local.hpp"
#include "store/postgres/postgres.hpp"
#include "store/quorum/quorum.hpp"
#include "store/redis/redis.hpp"
#include "store/trace/traced_store.hpp"
#include "store/zookeeper/zookeeper.hpp"

namespace store {
namespace {

using Parsed = base::Result<ServerSpec, BadUrl>;

template <class Server>
Parsed widened(base::Result<Server, BadUrl> server) {
  if (!server) return std::move(server).error();
  return ServerSpec{*std::move(server)};
}

/// `url` has a known scheme.
template <auto server_in>
Parsed parsed_by(const Url& url) {
  return widened(server_in(url));
}

/// One kind of URL: a new scheme needs only a row here.
struct Scheme {
  std::string_view name;
  Parsed (*parse)(const Url&);
  std::string_view form;  // for messages; empty: covered by the row above
};
constexpr std::array<Scheme, 11> schemes{{
    {"redis", parsed_by<redis::tcp_server_in>,
     "redis[s]://[[user]:password@]host[:port][,...][/db]"},
    {"rediss", parsed_by<redis::tls_server_in>, ""},
    {"unix", parsed_by<redis::unix_server_in>, "unix:///path/redis.sock[?db=N]"},
    {"redis+sentinel", parsed_by<redis::sentinel_master_in>,
     "redis[s]+sentinel://[user:password@]host[:port],.../master-name[/db]"},
    {"rediss+sentinel", parsed_by<redis::tls_sentinel_master_in>, ""},
    {"postgresql", parsed_by<postgres::database_in>,
     "postgresql://[user[:password]@][host[:port]][,...][/database][?option=value]"},
    {"postgres", parsed_by<postgres::database_in>, ""},
    {"zk", parsed_by<zookeeper::ensemble_in>, "zk://[user:password@]host[:port][,...][/path]"},
    {"etcd", parsed_by<etcd::plain_cluster_in>,
     "etcd[s]://[user:password@]host[:port][,...][/prefix]"},
    {"etcds", parsed_by<etcd::tls_cluster_in>, ""},
    {"file", parsed_by<local::directory_in>, "file:[///directory]"},
}};

/// The Redis servers that `server` consists of.
std::span<const RedisServer> redis_servers_in(const ServerSpec& server) {
  if (const auto* redis = std::get_if<RedisServer>(&server)) return {redis, 1};
  if (const auto* quorum = std::get_if<Quorum>(&server)) return quorum->servers;
  return {};
}

void add_hosts(const RedisServer& server, std::vector<std::string>& hosts) {
  base::match(
      server.where,
      [&](const RedisServer::Nodes& nodes) {
        for (const auto& each : nodes) {
          if (const auto* tcp = std::get_if<HostPort>(&each)) hosts.push_back(tcp->host);
        }
      },
      [&](const RedisServer::Sentinels& sentinels) {
        for (const auto& each : sentinels.nodes) hosts.push_back(each.host);
      });
}

/// -vv shows each request and its answer.
bool is_traced() {
  return base::log::is_said(base::log::Severity::trace);
}

std::unique_ptr<LockStore> traced(std::unique_ptr<LockStore> store) {
  return is_traced() ? trace::open_store(std::move(store)) : std::move(store);
}

std::vector<std::unique_ptr<QuorumNode>> open_nodes(const Quorum& quorum) {
  std::vector<std::unique_ptr<QuorumNode>> nodes;
  for (const auto& server : quorum.servers) {
    auto node = redis::open_store(server);
    if (is_traced()) {
      node = trace::open_node(std::move(node), fmt::format("server {}: ", nodes.size() + 1));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<std::unique_ptr<LockAdmin>> open_admins(const Quorum& quorum) {
  std::vector<std::unique_ptr<LockAdmin>> nodes;
  for (const auto& server : quorum.servers) nodes.push_back(redis::open_admin(server));
  return nodes;
}

}  // namespace

std::string accepted_servers() {
  std::string text;
  for (const Scheme& each : schemes) {
    if (each.form.empty()) continue;
    const bool is_last = &each == &schemes.back();
    text += text.empty() ? "" : is_last ? " or " : ", ";
    text += each.form;
  }
  return text;
}

Parsed parse_server(const ServerUrl& url) {
  const auto parts = cut_url(url.reveal());
  if (!parts) {
    const std::string& text = url.reveal();
    const bool has_scheme = std::any_of(schemes.begin(), schemes.end(), [&](const Scheme& each) {
      return text.starts_with(std::string{each.name} + ":");
    });
    return BadUrl{has_scheme ? "no '/' after the scheme" : "no scheme", has_scheme};
  }
  for (const Scheme& each : schemes) {
    if (each.name == parts->scheme) return each.parse(*parts);
  }
  return BadUrl{"unknown scheme", false};
}

Parsed together(std::vector<ServerSpec> servers) {
  if (servers.size() == 1) return std::move(servers.front());
  std::vector<RedisServer> nodes;
  for (auto& server : servers) {
    auto* node = std::get_if<RedisServer>(&server);
    if (node == nullptr) return BadUrl{"only Redis servers can be several"};
    nodes.push_back(std::move(*node));
  }
  return widened(quorum::quorum_of(std::move(nodes)));
}

void default_password(ServerSpec& server, const base::Secret& password, const std::string& file) {
  // Shared by all servers of a quorum: if one makes us read the file again, the others benefit.
  const auto shared = file.empty() ? nullptr : std::make_shared<PasswordFile>(file, password);
  const auto put = [&](RedisServer& redis) {
    auto& login = redis.access.login;
    if (!login.password.empty()) return;
    login.password = password;
    login.file = shared;
  };
  base::match(
      server, [&](RedisServer& redis) { put(redis); },
      [&](Quorum& quorum) { std::for_each(quorum.servers.begin(), quorum.servers.end(), put); },
      [&](ZooKeeper& ensemble) {
        if (lacks_password(ServerSpec{ensemble})) ensemble.password = password;
      },
      [&](Etcd& cluster) {
        if (lacks_password(ServerSpec{cluster})) cluster.password = password;
      },
      [&](PostgreSql& database) {
        // REDISCLI_AUTH is for Redis only: libpq has PGPASSWORD.
        if (!file.empty()) database.password = password;
      },
      [](const LocalDirectory&) {});
}

bool lacks_password(const ServerSpec& server) {
  const auto servers = redis_servers_in(server);
  const auto* ensemble = std::get_if<ZooKeeper>(&server);
  const auto* cluster = std::get_if<Etcd>(&server);
  const auto* database = std::get_if<PostgreSql>(&server);
  return std::any_of(servers.begin(), servers.end(),
                     [](const auto& each) { return each.access.login.password.empty(); }) ||
         (database != nullptr && !database->has_password) ||
         (ensemble != nullptr && !ensemble->user.empty() && ensemble->password.empty()) ||
         (cluster != nullptr && !cluster->user.empty() && cluster->password.empty());
}

bool looks_for_password(const ServerSpec& server) {
  return std::holds_alternative<PostgreSql>(server);
}

std::string_view what_takes_libraries(const ServerSpec& server) {
  if (std::holds_alternative<PostgreSql>(server)) return "PostgreSQL";
  if (const auto* cluster = std::get_if<Etcd>(&server); cluster != nullptr && cluster->tls) {
    return "TLS";
  }
  const auto servers = redis_servers_in(server);
  const bool is_tls = std::any_of(servers.begin(), servers.end(), [](const RedisServer& each) {
    return each.access.tls.has_value();
  });
  return is_tls ? "TLS" : "";
}

std::vector<std::string> hosts_of(const ServerSpec& server) {
  std::vector<std::string> hosts;
  for (const auto& each : redis_servers_in(server)) add_hosts(each, hosts);
  if (const auto* ensemble = std::get_if<ZooKeeper>(&server)) {
    if (const auto nodes = hosts_in(ensemble->hosts, "")) {
      for (const auto& each : *nodes) hosts.push_back(each.host);
    }
  }
  if (const auto* cluster = std::get_if<Etcd>(&server)) {
    for (const auto& each : cluster->members) hosts.push_back(each.host);
  }
  return hosts;
}

std::unique_ptr<LockStore> open(const ServerSpec& server) {
  return traced(base::match(
      server,
      [](const RedisServer& redis) -> std::unique_ptr<LockStore> {
        return redis::open_store(redis);
      },
      [](const Quorum& quorum) { return quorum::open_store(open_nodes(quorum)); },
      [](const PostgreSql& database) { return postgres::open_store(database); },
      [](const ZooKeeper& ensemble) { return zookeeper::open_store(ensemble); },
      [](const Etcd& cluster) { return etcd::open_store(cluster); },
      [](const LocalDirectory& local) { return local::open_store(local); }));
}

std::unique_ptr<LockStore> open_gated(const ServerSpec& server, std::string_view shown) {
  return gate::open_store(local::open_store(local::gates_of(shown)), open(server));
}

std::unique_ptr<LockAdmin> open_admin(const ServerSpec& server) {
  return base::match(
      server, [](const RedisServer& redis) { return redis::open_admin(redis); },
      [](const Quorum& quorum) { return quorum::open_admin(open_admins(quorum)); },
      [](const PostgreSql& database) { return postgres::open_admin(database); },
      [](const ZooKeeper& ensemble) { return zookeeper::open_admin(ensemble); },
      [](const Etcd& cluster) { return etcd::open_admin(cluster); },
      [](const LocalDirectory& local) { return local::open_admin(local); });
}

std::optional<std::string> schema_of(std::string_view kind) {
  if (kind == "postgresql") return postgres::schema_for_people();
  return std::nullopt;
}

bool can(const ServerSpec& server, Feature feature) {
  const Features features = base::match(
      server, [](const RedisServer&) { return redis::features; },
      [](const Quorum&) { return quorum::features; },
      [](const PostgreSql&) { return postgres::features; },
      [](const ZooKeeper&) { return zookeeper::features; },
      [](const Etcd&) { return etcd::features; },
      [](const LocalDirectory&) { return local::features; });
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Findings examine(const ServerSpec& server, const LockName& name, const CallLimit& limit) {
  return base::match(
      server, [&](const RedisServer& redis) { return redis::examine(redis, name, limit); },
      [&](const Quorum& quorum) {
        const auto examine_node = [&](std::size_t node, const CallLimit& share) {
          return redis::examine(quorum.servers[node], name, share);
        };
        return quorum::examine(open_nodes(quorum), examine_node, name, limit);
      },
      [&](const PostgreSql& database) { return postgres::examine(database, name, limit); },
      [&](const ZooKeeper& ensemble) { return zookeeper::examine(ensemble, name, limit); },
      [&](const Etcd& cluster) { return etcd::examine(cluster, name, limit); },
      [&](const LocalDirectory& local) { return local::examine(local, name, limit); });
}

}  // namespace store
