// Which masters a Cluster has, for questions that go to all of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/redis/client.hpp"

namespace store::redis {

struct Masters {
  std::vector<RedisServer::Tcp> nodes;  // none: it is no Cluster, as far as we may know
  std::optional<Fault> missing{};       // some masters are not among them, and why
  bool unknown = false;                 // we may not ask whether it is a Cluster
};

/// From the answer to CLUSTER SLOTS of a node at `host`, which is meant where a node names none.
/// Pure.
Masters masters_in(const Reply& slots, const std::string& host);

/// Asks the node that `client` is connected to, or connects to. `each` is the limit of one answer.
Result<Masters> masters_of(Client& client, const CallLimit& each);

}  // namespace store::redis
