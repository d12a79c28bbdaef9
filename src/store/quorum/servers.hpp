// Several independent Redis servers, of which more than half must agree.
#pragma once

#include <variant>
#include <vector>

#include "store/redis/server.hpp"
#include "store/url.hpp"

namespace store {

struct Quorum {
  std::vector<RedisServer> servers;  // an odd number, at least 3, without duplicates
};

namespace quorum {

/// `why` if these cannot form a quorum.
base::Result<Quorum, BadUrl> quorum_of(std::vector<RedisServer> servers);

}  // namespace quorum
}  // namespace store
