#include "store/quorum/servers.hpp"

#include <algorithm>

#include "base/result.hpp"

namespace store::quorum {
namespace {

RedisServer::Nodes addresses(const RedisServer& server) {
  return base::match(
      server.where, [](const RedisServer::Nodes& nodes) { return nodes; },
      [](const RedisServer::Sentinels& sentinels) {
        return RedisServer::Nodes(sentinels.nodes.begin(), sentinels.nodes.end());
      });
}

bool meet(const RedisServer& one, const RedisServer& other) {
  const auto here = addresses(one);
  const auto there = addresses(other);
  return std::any_of(here.begin(), here.end(), [&](const auto& address) {
    return std::find(there.begin(), there.end(), address) != there.end();
  });
}

}  // namespace

base::Result<Quorum, BadUrl> quorum_of(std::vector<RedisServer> servers) {
  if (servers.size() % 2 == 0) {
    return BadUrl{"an even number of servers: one server fewer would tolerate as many failures"};
  }
  for (auto one = servers.begin(); one != servers.end(); ++one) {
    // Another database or user of the same server fails together with it.
    const auto same = [&](const RedisServer& other) { return meet(*one, other); };
    if (std::any_of(servers.begin(), one, same)) return BadUrl{"the same server twice"};
    // In another database, two names of one server would go unnoticed (see acquire_round).
    if (one->access.database != servers.front().access.database) {
      return BadUrl{"all servers of a quorum need the same database"};
    }
  }
  return Quorum{std::move(servers)};
}

}  // namespace store::quorum
