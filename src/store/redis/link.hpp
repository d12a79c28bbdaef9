// The way to one Redis server, through as many connections as it takes.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/redis/connection.hpp"
#include "store/redis/redirections.hpp"
#include "store/redis/script.hpp"

namespace store::redis {

/// Connects when first needed and again after every fault, resolving the name anew: behind it there
/// may be another server by now. In a Cluster it goes where it is sent. One thread at a time.
class Link {
 public:
  explicit Link(RedisServer server) : server_{std::move(server)} {}

  /// Runs a script on one lock, with the names of its companions; `arguments` are those behind the
  /// mailboxes' prefix. EVALSHA, or EVAL where the server does not know the script (a restart,
  /// SCRIPT FLUSH, another node): decided per call, because that can happen at any time.
  std::variant<Reply, Fault> run(const Script& script, const LockName& name,
                                 const std::vector<std::string>& arguments, const CallLimit& limit);
  /// In a Cluster, what one node cannot, another one is asked for.
  std::variant<Reply, Fault> ask(const Command& command, const CallLimit& limit);

  /// Of the server that has just answered, and of no other: what WAIT says is about what went
  /// through this connection.
  std::variant<Reply, Fault> ask_again(const Command& command, const CallLimit& limit);

  /// The two halves of ask(), for commands that block on the server.
  std::optional<Fault> send(const Command& command, const CallLimit& limit);
  std::variant<Reply, Fault, std::monostate> receive(const CallLimit& limit);

  /// Throws the connection away, and with it whatever it is blocked in.
  void drop() { connection_.reset(); }
  /// If this error is a redirection of a Cluster: the next connection goes where it points.
  bool follow(std::string_view error);
  /// For a node that is of no use: drops it, and begins elsewhere next time if there are several.
  void leave();
  [[nodiscard]] int descriptor() const { return connection_ ? connection_->descriptor() : -1; }

 private:
  std::optional<Fault> connect(const CallLimit& limit);
  std::variant<Connection, Fault> open(const CallLimit& limit);
  std::variant<Connection, Fault> open_node(const RedisServer::Nodes& given,
                                            const CallLimit& limit);
  [[nodiscard]] std::size_t beginnings() const;
  std::variant<Reply, Fault> ask_here(const Command& command, const CallLimit& limit);
  std::variant<Reply, Fault> ask_around(const Command& command, const CallLimit& limit);
  std::variant<Reply, Fault> ask_there(std::string_view error, const Command& command,
                                       const CallLimit& limit);

  RedisServer server_;
  Redirections redirections_;
  std::optional<Connection> connection_;
};

/// BLPOP `key` for at most `timeout` (from 1 ms; Redis reads 0 as "forever").
Command blocking_pop(const std::string& key, Millis timeout);

}  // namespace store::redis
