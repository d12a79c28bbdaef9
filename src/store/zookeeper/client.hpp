// A session with an ensemble: what it can be asked, and the way to one server after the other. The
// client library is made bounded in time and interruptible here.
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/lock_store.hpp"
#include "store/zookeeper/ensemble.hpp"
#include "store/zookeeper/session_time.hpp"

namespace store::zookeeper {

/// Why a question came to nothing: what the code steers by, and what it is to the other rooms.
struct Error {
  enum class Kind { no_such_node, node_exists, other } kind;
  Fault fault;
};

/// What an error code of the library means.
Error error_of(int code);

/// A node's content.
struct Node {
  std::string data;
  Stat stat;
};

/// How much a server may send until an answer is there: a broken or hostile one must not take our
/// memory. The library takes as much as an answer claims to be long, up to 2 GB; what a server
/// sends without being asked (events, signs of life) counts too.
class ReceiveLimit {
 public:
  /// Bytes on the wire. 100,000 names of waiters are 8 MB.
  static constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;

  /// A question is about to be asked over this connection.
  void renew(int socket);
  /// Called before the library reads: ends a connection that has brought too much, which the
  /// library takes for a lost one. What the kernel has of it by then (some MB) still counts.
  void enforce(int socket);

 private:
  std::uint64_t before_ = 0;  // what it had brought when the question was asked
};

/// Outlives the connections to single servers; what a call did when one broke is unknown (silent).
/// It connects again by itself, and not to the server that was just lost. The library is the
/// single-threaded one: nothing happens but in these calls, so none of its threads is there when
/// the job is forked. One thread at a time.
class Session {
 public:
  /// `timeout` is how long the ensemble is to keep the session without a sign of life.
  static Result<std::unique_ptr<Session>> open(const ZooKeeper& ensemble, Millis timeout,
                                               const CallLimit& limit);
  /// Says goodbye to the server, if there is one: the session ends at once.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Whether the ensemble has ended it: every ephemeral node of it is gone.
  [[nodiscard]] bool expired() const { return zoo_state(handle_) == ZOO_EXPIRED_SESSION_STATE; }
  /// What was agreed on.
  [[nodiscard]] Millis timeout() const { return Millis{zoo_recv_timeout(handle_)}; }
  /// Whether this session made the ephemeral node.
  [[nodiscard]] bool is_ours(const Stat& stat) const;

  // ---- questions; each is asked of the server that we are connected to ----

  /// The path, with its number if `flags` say sequential.
  base::Result<std::string, Error> create(const std::string& path, const std::string& data,
                                          int flags, const CallLimit& limit);
  /// Nothing if there is no such node. With `watch`, changed(path) tells of changes.
  enum class Watch { no, yes };
  Result<std::optional<Node>> get(const std::string& path, Watch watch, const CallLimit& limit);
  /// The names below the node; none if there is no such node.
  Result<std::vector<std::string>> children(const std::string& path, const CallLimit& limit);
  /// False if there is no such node.
  Result<bool> set(const std::string& path, const std::string& data, const CallLimit& limit);
  Result<bool> exists(const std::string& path, Watch watch, const CallLimit& limit);
  Result<bool> erase(const std::string& path, const CallLimit& limit);
  /// As exists(), but asks a majority, which proves that the session lives. Any other reading is
  /// answered by one server, which may be cut off from the others and not know yet.
  Result<bool> confirm(const std::string& path, const CallLimit& limit);

  // ---- the connection ----

  /// Waits until there is one.
  Result<base::Done> await_connection(const CallLimit& limit);
  /// Gives up a server that takes questions and does not answer; the session goes on at another.
  void leave_server();
  /// Lets the library work until the limit, or until `done()`. Whether it is done.
  bool process(const CallLimit& limit, const std::function<bool()>& done);
  /// Readable when process() has something to do; -1 while there is no connection.
  [[nodiscard]] int descriptor() const { return socket_; }
  /// Whether a watched node has changed or gone since this was last called.
  bool changed(const std::string& path) { return changed_.erase(path) > 0; }

 private:
  explicit Session(bool secured) : secured_{secured} {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);

  /// `start` hands the question to the library; `question` is kept until the library has answered,
  /// which may be after this call has returned.
  template <class Answer>
  base::Result<Answer, Error> ask(const std::function<int(void*)>& start, const CallLimit& limit,
                                  const std::shared_ptr<const void>& question = nullptr);
  /// As ask(); the answer is whether the node is there.
  Result<bool> ask_of_node(const std::function<int(void*)>& start, const CallLimit& limit,
                           const std::shared_ptr<const void>& question = nullptr);

  [[nodiscard]] bool is_connected() const { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }
  void step(const CallLimit& limit);
  [[nodiscard]] bool has_no_server() const;
  [[nodiscard]] bool is_no_zookeeper() const;
  void hang_up();
  void pass_over();

  bool secured_;  // the nodes that we make belong to us
  zhandle_t* handle_ = nullptr;
  int socket_ = -1;
  ReceiveLimit receive_limit_;
  ServerTrial trial_;
  std::string server_;    // connected to last; empty once it has been passed over
  bool refused_ = false;  // our credentials
  std::set<std::string> changed_;
};

}  // namespace store::zookeeper
