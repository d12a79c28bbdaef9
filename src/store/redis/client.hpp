// The choice of the server to ask: the one of a URL, the master named by its sentinels, or the
// Cluster node with the key. A client connects on its first request and again after every fault.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "os/net.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/sentinel.hpp"

namespace store::redis {

/// The redirections of one client by a Cluster (cluster specification, "MOVED Redirection"). All
/// keys of a lock are in one slot, so the last redirection holds until it proves wrong. Pure: opens
/// nothing.
class ClusterRoute {
 public:
  /// The target of "MOVED 3999 127.0.0.1:6381" or "ASK ...". Without a host it is the host that was
  /// asked, at another port.
  [[nodiscard]] std::optional<RedisServer::Tcp> target(std::string_view error) const;

  /// Records a MOVED; false for anything else, and for a MOVED without an address.
  bool note(std::string_view error);
  /// The target of the last redirection, if there was one.
  [[nodiscard]] const std::optional<RedisServer::Tcp>& sent_to() const { return current_; }
  /// The current node proved useless: the next candidates begin with another one.
  void forget();

  /// A redirection's target that has not been tried. No other node knows better, so it gets the
  /// whole limit.
  [[nodiscard]] std::optional<RedisServer::Tcp> just_sent() const;
  /// Call once connected to this node.
  void arrive(const RedisServer::Address& node);
  /// The host of that node; empty for a Unix socket.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// The addresses to try otherwise, each once, best first: the redirection's target, the given
  /// nodes, and earlier targets.
  [[nodiscard]] RedisServer::Nodes candidates(const RedisServer::Nodes& given) const;

 private:
  std::optional<RedisServer::Tcp> current_;
  bool just_sent_ = false;
  std::string host_;       // of the current connection
  std::size_t first_ = 0;  // of the given nodes
  std::deque<RedisServer::Tcp> seen_;
};

/// Connects on the first request and again after every fault. Resolves the name each time, because
/// another server may have it by then. In a Cluster, follows redirections. One thread at a time.
class Client {
 public:
  explicit Client(RedisServer server) : server_{std::move(server)} {
    if (const auto* sentinels = std::get_if<RedisServer::Sentinels>(&server_.where)) {
      master_.emplace(*sentinels);
    }
  }

  /// Runs a script on one lock, with the names of its keys, and of a slot if there is one;
  /// `arguments` follow the mailboxes' prefix. Uses EVALSHA, and EVAL if the server does not know
  /// the script (a restart, SCRIPT FLUSH, another node), which can happen at any call. Uses EVAL at
  /// once after a request without an answer: there may be no time for a NOSCRIPT.
  Result<Reply> run_script(const Script& script, const LockName& name,
                           const std::vector<std::string>& arguments, const CallLimit& limit,
                           const std::optional<Slot>& slot = std::nullopt);
  /// Runs a script that only reads, with the same arguments, on each of these locks of one node:
  /// all requests at once, for a server that is far away. Each answer has a limit of its own.
  /// Nothing in place of an answer: run_script() has to ask, because the node does not know the
  /// script, or has not the key.
  Result<std::vector<std::optional<Reply>>> run_script_on_each(
      const Script& script, std::span<const LockName> names,
      const std::vector<std::string>& arguments, const std::function<CallLimit()>& one_limit);
  /// Asks the node with the key, following redirections, or another node if one cannot be reached
  /// or says that it cannot serve now.
  Result<Reply> ask(const Command& command, const CallLimit& limit);
  /// Asks only on the connection that has just answered: WAIT reports on writes through the same
  /// connection, and a cursor of SCAN means nothing to another server.
  Result<Reply> ask_same_connection(const Command& command, const CallLimit& limit);

  /// The two halves of ask(), for commands that block on the server. Here too receive() returns
  /// nothing if the limit ends first, and may be called again.
  Result<base::Done> send(const Command& command, const CallLimit& limit);
  Result<std::optional<Reply>> receive(const CallLimit& limit);

  /// Asks the sentinels, if there are any, and leaves a master that they have replaced. Call it
  /// where an answer of the former master would mislead us.
  void follow_master(const CallLimit& limit);
  /// Closes the connection, together with any command that blocks in it.
  void drop() { connection_.reset(); }
  /// The Fault for an error from receive(). Call before drop().
  [[nodiscard]] Fault fault_in(const Reply& error) const {
    return connection_ ? connection_->fault_in(error) : classify(error.text());
  }
  /// If the error is a Cluster's redirection, makes the next connection go there.
  bool follow(std::string_view error);
  /// Leaves a useless node: drops it, and starts elsewhere next time if there are several.
  void leave();
  /// The connected server's address, for comparison; empty without a connection.
  [[nodiscard]] std::string peer() const { return os::peer_of(descriptor()); }
  /// The host of the current or last connection; empty for a Unix socket, and for a master named by
  /// sentinels.
  [[nodiscard]] const std::string& host() const { return route_.host(); }
  [[nodiscard]] int descriptor() const { return connection_ ? connection_->descriptor() : -1; }

 private:
  Result<base::Done> connect(const CallLimit& limit);
  Result<Connection> open(const CallLimit& limit);
  Result<Connection> open_node(const RedisServer::Nodes& given, const CallLimit& limit);
  /// If there is only one node and its name has several addresses: these, best first.
  Result<RedisServer::Nodes> spread(RedisServer::Nodes nodes, const CallLimit& limit);
  [[nodiscard]] std::size_t beginnings() const;

  /// Asks the current node, connecting if necessary.
  Result<Reply> ask_one_node(const Command& command, const CallLimit& limit);
  /// Asks the current node, and follows its redirections.
  Result<Reply> ask_redirected(const Command& command, const CallLimit& limit);
  /// Asks the node that an ASK names, only this once: the slot is moving there.
  Result<Reply> ask_importing_node(std::string_view error, const Command& command,
                                   const CallLimit& limit);

  RedisServer server_;
  ClusterRoute route_;
  std::optional<MasterFinder> master_;  // if sentinels name it
  std::optional<Connection> connection_;
  bool unheard_ = false;              // the last script had no answer
  std::size_t addresses_ = 1;         // of the only node
  std::vector<std::string> useless_;  // those that proved useless since all did
};

/// BLPOP `keys` for at most `timeout` (at least 1 ms, because Redis takes 0 as "forever").
Command blocking_pop(const std::vector<std::string>& keys, Millis timeout);

}  // namespace store::redis
