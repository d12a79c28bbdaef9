// A session with an ensemble, and what it can be asked.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"
#include "store/zookeeper/call.hpp"
#include "store/zookeeper/connection.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// Outlives the connections to single servers; what a call did when one broke is unknown (silent).
/// One thread at a time.
class Session {
 public:
  /// `timeout` is how long the ensemble keeps the session without a sign of life, if it agrees.
  static std::variant<std::unique_ptr<Session>, Fault> open(const ZooKeeper& ensemble,
                                                            Millis timeout, const CallLimit& limit);

  /// Whether the ensemble has ended it: every ephemeral node of it is gone.
  [[nodiscard]] bool expired() const { return connection_->expired(); }
  /// What was agreed on.
  [[nodiscard]] Millis timeout() const { return connection_->timeout(); }
  [[nodiscard]] bool is_ours(const Stat& stat) const;

  /// The path, with its number if `flags` say sequential.
  std::variant<std::string, Fault> create(const std::string& path, const std::string& data,
                                          int flags, const CallLimit& limit);
  /// Nothing if there is no such node. With `watch`, changed(path) tells of changes.
  enum class Watch { no, yes };
  std::variant<std::optional<Node>, Fault> get(const std::string& path, Watch watch,
                                               const CallLimit& limit);
  std::variant<std::vector<std::string>, Fault> children(const std::string& path,
                                                         const CallLimit& limit);
  /// False if there is no such node.
  std::variant<bool, Fault> set(const std::string& path, const std::string& data,
                                const CallLimit& limit);
  std::variant<bool, Fault> exists(const std::string& path, Watch watch, const CallLimit& limit);
  std::variant<bool, Fault> erase(const std::string& path, const CallLimit& limit);
  /// The same question to a majority, which proves that the session lives. Reading is answered by
  /// one server, which may be cut off from the others and not know yet.
  std::variant<bool, Fault> confirm(const std::string& path, const CallLimit& limit);

  /// As the connection says.
  std::optional<Fault> await(const CallLimit& limit) { return connection_->await(limit); }
  void leave() { connection_->leave(); }
  bool changed(const std::string& path) { return connection_->changed(path); }
  bool process(const CallLimit& limit, const std::function<bool()>& until) {
    return connection_->process(limit, until);
  }
  [[nodiscard]] int descriptor() const { return connection_->descriptor(); }

 private:
  Session(std::unique_ptr<Connection> connection, bool secured)
      : connection_{std::move(connection)}, secured_{secured} {}
  /// As ask(), with whether the node is there for an answer.
  std::variant<bool, Fault> ask_of_node(const std::function<int(void*)>& start,
                                        const CallLimit& limit,
                                        const std::shared_ptr<const void>& question = nullptr);
  /// `question` stays until the library has answered, which may be after us.
  template <class Result>
  std::variant<Result, Fault> ask(const std::function<int(void*)>& start, const CallLimit& limit,
                                  const std::shared_ptr<const void>& question = nullptr);

  std::unique_ptr<Connection> connection_;
  bool secured_;  // what we make belongs to us
};

}  // namespace store::zookeeper
