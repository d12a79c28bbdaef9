// The masters of a Cluster, for requests to all of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client.hpp"

namespace store::redis {

struct Masters {
  std::vector<RedisServer::Tcp> nodes;  // none: not a Cluster, as far as we may know
  std::optional<Fault> missing{};       // why some masters are missing
  bool unknown = false;                 // we are not permitted to ask whether it is a Cluster
  std::string layout{};                 // which slots are where
};

/// Parses the answer to CLUSTER SLOTS from a node at `host`, which stands in for a missing host.
/// Pure.
Masters masters_in(const Reply& slots, const std::string& host);

/// The number of a slot that is being moved to or from the node that said this to CLUSTER NODES, or
/// nothing. Pure.
std::optional<std::string> moving_slot_in(std::string_view nodes);

/// Asks the node that `client` is, or will be, connected to. `each` is the limit of one answer.
Result<Masters> masters_of(Client& client, const CallLimit& each);

}  // namespace store::redis
