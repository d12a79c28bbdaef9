// Who is asked: the one server of a URL, the master that its sentinels name, or the node of a
// Cluster that has the key. A client connects when it has a question and again after every fault.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "os/net.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/sentinel.hpp"

namespace store::redis {

/// Where the nodes of a Cluster sent one client (cluster specification, "MOVED Redirection"). All
/// keys of a lock lie in one slot, so the last redirection holds until it turns out to be wrong.
/// Pure: opens nothing.
class ClusterRoute {
 public:
  /// "MOVED 3999 127.0.0.1:6381" or "ASK ...": where it points. One without a host means the host
  /// that was asked, at another port.
  [[nodiscard]] std::optional<RedisServer::Tcp> target(std::string_view error) const;

  /// Takes note of a MOVED; false for anything else, and for a MOVED without an address.
  bool note(std::string_view error);
  /// Where we were sent last, if we were.
  [[nodiscard]] const std::optional<RedisServer::Tcp>& sent_to() const { return current_; }
  /// The node we came to is of no use any more: the next candidates begin with another one.
  void forget();

  /// Where we were sent and have not been yet. No other node knows better, so it gets the whole
  /// limit.
  [[nodiscard]] std::optional<RedisServer::Tcp> just_sent() const;
  /// Connected to this node.
  void arrive(const RedisServer::Address& node);
  /// Where that is; empty for a Unix socket.
  [[nodiscard]] const std::string& host() const { return host_; }
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

/// Connects when first needed and again after every fault, resolving the name anew, because another
/// server may be behind it by then. In a Cluster it goes where it is sent. One thread at a time.
class Client {
 public:
  explicit Client(RedisServer server) : server_{std::move(server)} {
    if (const auto* sentinels = std::get_if<RedisServer::Sentinels>(&server_.where)) {
      master_.emplace(*sentinels);
    }
  }

  /// Runs a script on one lock, with the names of its keys, and of a slot where there is one;
  /// `arguments` are those behind the mailboxes' prefix. EVALSHA, or EVAL where the server does not
  /// know the script (a restart, SCRIPT FLUSH, another node): decided per call, because that can
  /// happen at any time. EVAL at once after a question that was not answered: there may be no time
  /// to hear that it does not.
  Result<Reply> run_script(const Script& script, const LockName& name,
                           const std::vector<std::string>& arguments, const CallLimit& limit,
                           const std::optional<Slot>& slot = std::nullopt);
  /// Asks the node that has the key, wherever the Cluster sends us, and another node if one cannot
  /// be reached or says that it cannot now.
  Result<Reply> ask(const Command& command, const CallLimit& limit);
  /// Asks on the connection that has just answered, and on no other: what WAIT says is about the
  /// writes that went through this connection.
  Result<Reply> ask_same_connection(const Command& command, const CallLimit& limit);

  /// The two halves of ask(), for commands that block on the server. As there, receive() says
  /// nothing when the limit ends first, and may be called again.
  Result<base::Done> send(const Command& command, const CallLimit& limit);
  Result<std::optional<Reply>> receive(const CallLimit& limit);

  /// Asks the sentinels, if there are any, and leaves a master that they have replaced. To be
  /// called where an answer of yesterday's master would mislead us.
  void follow_master(const CallLimit& limit);
  /// Throws the connection away, and with it whatever it is blocked in.
  void drop() { connection_.reset(); }
  /// What an error that receive() gave means; before drop().
  [[nodiscard]] Fault fault_in(const Reply& error) const {
    return connection_ ? connection_->fault_in(error) : classify(error.text());
  }
  /// If this error is a redirection of a Cluster: the next connection goes where it points.
  bool follow(std::string_view error);
  /// For a node that is of no use: drops it, and begins elsewhere next time if there are several.
  void leave();
  /// Which server the connection leads to, to compare it; empty without one.
  [[nodiscard]] std::string peer() const { return os::peer_of(descriptor()); }
  /// The host that it leads, or led, to; empty for a Unix socket, and for a master that sentinels
  /// named.
  [[nodiscard]] const std::string& host() const { return route_.host(); }
  [[nodiscard]] int descriptor() const { return connection_ ? connection_->descriptor() : -1; }

 private:
  Result<base::Done> connect(const CallLimit& limit);
  Result<Connection> open(const CallLimit& limit);
  Result<Connection> open_node(const RedisServer::Nodes& given, const CallLimit& limit);
  /// Where there is but one node, and its name has several addresses: these, best first.
  Result<RedisServer::Nodes> spread(RedisServer::Nodes nodes, const CallLimit& limit);
  [[nodiscard]] std::size_t beginnings() const;

  /// Asks the node that we are connected to, or connect to.
  Result<Reply> ask_one_node(const Command& command, const CallLimit& limit);
  /// Asks that node, and follows its redirections.
  Result<Reply> ask_redirected(const Command& command, const CallLimit& limit);
  /// Asks the node that an ASK names, for this once: the slot of the key is on its way there.
  Result<Reply> ask_importing_node(std::string_view error, const Command& command,
                                   const CallLimit& limit);

  RedisServer server_;
  ClusterRoute route_;
  std::optional<MasterFinder> master_;  // where sentinels name it
  std::optional<Connection> connection_;
  bool unheard_ = false;              // the last script had no answer
  std::size_t addresses_ = 1;         // of the only node
  std::vector<std::string> useless_;  // those of them that were left since all were
};

/// BLPOP `key` for at most `timeout` (from 1 ms; Redis reads 0 as "forever").
Command blocking_pop(const std::string& key, Millis timeout);

}  // namespace store::redis
