// A session with an ensemble: the client library, made bounded in time and interruptible.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"
#include "store/zookeeper/allowance.hpp"
#include "store/zookeeper/call.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// The single-threaded client: nothing happens but in these calls, so no thread of the library's is
/// there when the job is forked, and whoever waits for the session alone calls process(). Connects,
/// and connects again, by itself; what a call did when the connection broke is unknown (silent).
/// One thread at a time.
class Session {
 public:
  /// `timeout` is how long the ensemble keeps the session without a sign of life, if it agrees.
  static std::variant<std::unique_ptr<Session>, Fault> open(const ZooKeeper& ensemble,
                                                            Millis timeout,
                                                            const Patience& patience);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Whether the ensemble has ended it: every ephemeral node of it is gone.
  [[nodiscard]] bool expired() const;
  /// What was agreed on.
  [[nodiscard]] Millis timeout() const;
  [[nodiscard]] bool is_ours(const Stat& stat) const;

  /// The path, with its number if `flags` say sequential.
  std::variant<std::string, Fault> create(const std::string& path, const std::string& data,
                                          int flags, const Patience& patience);
  /// Nothing if there is no such node. With `watch`, watched(path) tells of changes.
  enum class Watch { no, yes };
  std::variant<std::optional<Node>, Fault> get(const std::string& path, Watch watch,
                                               const Patience& patience);
  std::variant<std::vector<std::string>, Fault> children(const std::string& path,
                                                         const Patience& patience);
  /// False if there is no such node.
  std::variant<bool, Fault> set(const std::string& path, const std::string& data,
                                const Patience& patience);
  std::variant<bool, Fault> exists(const std::string& path, Watch watch, const Patience& patience);
  std::variant<bool, Fault> erase(const std::string& path, const Patience& patience);
  /// The same question to a majority, which proves that the session lives. Reading is answered by
  /// one server, which may be cut off from the others and not know yet.
  std::variant<bool, Fault> confirm(const std::string& path, const Patience& patience);

  /// Whether a watched node has changed or gone since it was last asked for.
  bool changed(const std::string& path) { return changed_.erase(path) > 0; }
  /// Lets the library work until patience ends, or `until` holds. False with patience.
  bool process(const Patience& patience, const std::function<bool()>& until);
  /// Readable when process() has something to do; -1 while there is no connection.
  [[nodiscard]] int descriptor() const { return socket_; }

 private:
  Session() = default;
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  [[nodiscard]] bool connected() const;
  std::optional<Fault> await_connection(const Patience& patience);
  void step(const Patience& patience);
  /// As ask(), with whether the node is there for an answer.
  std::variant<bool, Fault> ask_of_node(const std::function<int(void*)>& start,
                                        const Patience& patience);
  template <class Result>
  std::variant<Result, Fault> ask(const std::function<int(void*)>& start, const Patience& patience);

  zhandle_t* handle_ = nullptr;
  int socket_ = -1;
  Allowance allowance_;
  bool secured_ = false;  // what we make belongs to us
  bool refused_ = false;  // our credentials
  std::set<std::string> changed_;
  std::vector<std::shared_ptr<void>> questions_;  // that the library may still look at
};

}  // namespace store::zookeeper
