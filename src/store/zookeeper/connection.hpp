// The way to one server of an ensemble after the other: the client library, made bounded in time
// and interruptible.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "store/lock_store.hpp"
#include "store/zookeeper/allowance.hpp"
#include "store/zookeeper/ensemble.hpp"
#include "store/zookeeper/trial.hpp"

namespace store::zookeeper {

/// The single-threaded client: nothing happens but in these calls, so no thread of the library's is
/// there when the job is forked, and whoever waits calls process(). Connects again by itself, and
/// not to the server that was just lost; the session lives on meanwhile. One thread at a time.
class Connection {
 public:
  /// `session` is how long the ensemble is to keep a session without a sign of life.
  static std::variant<std::unique_ptr<Connection>, Fault> open(const ZooKeeper& ensemble,
                                                               Millis session,
                                                               const CallLimit& limit);
  /// Says goodbye to the server, if there is one: the session ends at once.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Until there is one.
  std::optional<Fault> await(const CallLimit& limit);
  /// For a server that is connected to and does not answer: goes on at another one.
  void leave();
  /// Lets the library work until limit ends, or `until` holds. False with limit.
  bool process(const CallLimit& limit, const std::function<bool()>& until);
  /// Readable when process() has something to do; -1 while there is no connection.
  [[nodiscard]] int descriptor() const { return socket_; }

  /// What questions are asked with.
  [[nodiscard]] zhandle_t* handle() const { return handle_; }
  /// The next answer may be as long as the allowance says.
  void expect_answer() { allowance_.renew(socket_); }

  /// Whether the ensemble has ended the session.
  [[nodiscard]] bool expired() const { return zoo_state(handle_) == ZOO_EXPIRED_SESSION_STATE; }
  /// Of the session, as it was agreed on.
  [[nodiscard]] Millis timeout() const { return Millis{zoo_recv_timeout(handle_)}; }
  /// Whether a watched node has changed or gone since it was last asked for.
  bool changed(const std::string& path) { return changed_.erase(path) > 0; }

 private:
  Connection() = default;
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  [[nodiscard]] bool is_there() const { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }
  void step(const CallLimit& limit);
  [[nodiscard]] bool is_alone() const;
  [[nodiscard]] bool is_no_zookeeper() const;
  void hang_up();
  void pass_over();

  zhandle_t* handle_ = nullptr;
  int socket_ = -1;
  Allowance allowance_;
  Trial trial_;
  std::string server_;    // connected to last; empty once it has been passed over
  bool refused_ = false;  // our credentials
  std::set<std::string> changed_;
};

}  // namespace store::zookeeper
