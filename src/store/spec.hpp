// Server URLs: where locks live, and the secret that opens the door.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/secret.hpp"

namespace store {

/// redis://[[user]:pass@]host[:port][,host[:port]...][/db]  and  unix://[user:pass@]/path[?db=N]
/// and redis+sentinel://[user:pass@]host[:port],host[:port].../master-name[/db]
struct RedisServer {
  struct Tcp {
    std::string host;
    std::string port;
    bool operator==(const Tcp&) const = default;
  };
  struct Unix {
    std::string path;
  };
  using Address = std::variant<Tcp, Unix>;
  struct Login {
    std::string user;  // empty: the default user
    base::Secret password;
  };
  /// Those who know which server is the master of that name.
  struct Sentinels {
    std::vector<Tcp> nodes;  // at least one
    std::string master;
    Login login;
  };
  /// One server; or nodes of one Cluster, of which any will do to begin with.
  using Nodes = std::vector<Address>;
  std::variant<Nodes, Sentinels> where;
  Login login;
  int database = 0;
};

/// A server of any kind; store/open knows what to do with each.
using ServerSpec = std::variant<RedisServer>;

struct BadUrl {
  std::string why;
};

inline constexpr std::string_view default_server = "redis://127.0.0.1:6379";
inline constexpr std::string_view accepted_servers =
    "redis://[[user]:password@]host[:port][,...][/db], unix:///path/redis.sock[?db=N] or "
    "redis+sentinel://[user:password@]host[:port],.../master-name[/db]";

/// User name and password are percent-decoded. `why` never repeats the URL, which may hold a
/// secret.
std::variant<ServerSpec, BadUrl> parse_server(std::string_view url);

/// The URL without user name and password, for messages and for the job's environment.
std::string without_secret(std::string_view url);

/// Puts `password` where the URL gave none.
void default_password(ServerSpec& server, const base::Secret& password);

}  // namespace store
