// Where the nodes of a Cluster send us.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "store/redis/connection.hpp"

namespace store::redis {

/// The redirections of one link (cluster specification, "MOVED Redirection"). All keys of a lock
/// lie in one slot, so the last one holds until it turns out to be wrong.
class Redirections {
 public:
  /// "MOVED 3999 127.0.0.1:6381" or "ASK ...": where it points. One without a host is of whom we
  /// have asked, at another port.
  [[nodiscard]] std::optional<RedisServer::Tcp> target(std::string_view error) const;

  /// Takes note of a MOVED; false for anything else, and for what is no address.
  bool note(std::string_view error);
  /// Where we were sent last, if we were.
  [[nodiscard]] const std::optional<RedisServer::Tcp>& sent_to() const { return current_; }
  /// The node we came to is of no use any more: the next beginning is another one.
  void forget();

  /// Where we were sent and have not been yet: nobody knows better, so it gets all our limit.
  [[nodiscard]] std::optional<RedisServer::Tcp> just_sent() const;
  /// Connected to this one of them.
  void arrive(const RedisServer::Address& node);
  /// Where to connect to otherwise, each once and best first: where we were sent, the nodes that
  /// were given, and those that we were sent to before.
  [[nodiscard]] RedisServer::Nodes candidates(const RedisServer::Nodes& given) const;

 private:
  std::optional<RedisServer::Tcp> current_;
  bool just_sent_ = false;
  std::string host_;       // that we are connected to
  std::size_t first_ = 0;  // of those to begin with
  std::deque<RedisServer::Tcp> seen_;
};

struct Arrival {
  Connection connection;
  RedisServer::Address node;
};

/// The first of the nodes that answers. If there are several, a connection is no answer: the kernel
/// of a server that hangs takes it too. Each has a share of what is left of the limit that would
/// do for one that is far away.
std::variant<Arrival, Fault> open_any(const RedisServer::Nodes& nodes,
                                      const RedisServer::Access& access, const CallLimit& limit);

}  // namespace store::redis
