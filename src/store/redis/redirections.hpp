// Where the nodes of a Cluster send us.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/redis/connection.hpp"

namespace store::redis {

/// The redirections of one link (cluster specification, "MOVED Redirection"). All keys of a lock
/// lie in one slot, so the last one holds until it turns out to be wrong.
class Redirections {
 public:
  /// "MOVED 3999 127.0.0.1:6381" or "ASK ...": where it points.
  static std::optional<RedisServer::Tcp> target(std::string_view error);

  /// Takes note of a MOVED; false for anything else.
  bool note(std::string_view error);
  /// The node we were sent to is of no use any more.
  void forget() { current_.reset(); }

  /// Where to connect to, best first: where we were sent, the nodes that were given, and every
  /// other node that we were ever sent to.
  [[nodiscard]] RedisServer::Nodes candidates(const RedisServer::Nodes& given) const;

 private:
  std::optional<RedisServer::Tcp> current_;
  std::vector<RedisServer::Tcp> seen_;
};

/// The first of the nodes that can be connected to; each gets an equal share of what is left of the
/// patience.
std::variant<Connection, Fault> open_any(const RedisServer::Nodes& nodes,
                                         const RedisServer::Access& access,
                                         const Patience& patience);

}  // namespace store::redis
