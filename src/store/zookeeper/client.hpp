// A session with an ensemble: what it can be asked, and the way to one server after the other. The
// client library is made bounded in time and interruptible here.
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/lock_store.hpp"
#include "store/zookeeper/ensemble.hpp"
#include "store/zookeeper/session_time.hpp"

namespace store::zookeeper {

/// Why a question came to nothing: what the code steers by, and what it is to the other rooms.
struct Error {
  enum class Kind {
    no_such_node,
    node_exists,
    node_changed,  // its version is another
    other
  } kind;
  Fault fault;
};

/// What an error code of the library means.
Error error_of(int code);

/// A node's content.
struct Node {
  std::string data;
  Stat stat;
};

/// The names below a node.
struct Children {
  std::vector<std::string> names;
  Stat stat;  // of the node itself
};

/// A node that was made.
struct Made {
  std::string path;  // with its number, if it was to have one
  Stat stat;
};

inline constexpr int any_version = -1;

/// What is done to several nodes at once, or not at all.
class Transaction {
 public:
  /// Each says the operation's place.
  std::size_t create(std::string path, std::string data, int flags);
  std::size_t set(std::string path, std::string data, int version);
  std::size_t erase(std::string path, int version = any_version);
  /// That the node is there.
  std::size_t check(std::string path);

 private:
  friend class Session;
  enum class Kind { create, set, erase, check };
  struct Operation {
    Kind kind;
    std::string path;
    std::string data;
    int flags_or_version;
  };
  std::size_t add(Operation operation);
  std::vector<Operation> operations_;
};

/// A transaction that was carried out.
struct Committed {
  std::vector<std::string> paths;  // of the nodes made, at the places of their operations
};

/// One that was not, or of which that is not known.
struct Rejected {
  Error error;
  std::optional<std::size_t> at;  // the operation that did not work; nothing: it was none of them
};

/// A question under way. Several can be sent before the first is waited for: a server answers in
/// order. Its own reference keeps it alive until the library answers, which it does exactly once,
/// at the latest when the session is closed.
template <class Answer>
struct Call {
  std::optional<int> code;
  Answer answer{};
  std::shared_ptr<const void> question{};  // what the library looks at until then, if anything
};
template <class Answer>
using Asked = std::shared_ptr<Call<Answer>>;

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

  /// Nothing if there is no such node. With `watch`, change_of(path) tells of changes.
  enum class Watch { no, yes };
  Result<std::optional<Node>> get(const std::string& path, Watch watch, const CallLimit& limit);
  base::Result<Made, Error> create(const std::string& path, const std::string& data, int flags,
                                   const CallLimit& limit);
  /// None if there is no such node.
  Result<Children> children(const std::string& path, const CallLimit& limit);
  /// False if there is no such node.
  Result<bool> set(const std::string& path, const std::string& data, const CallLimit& limit);
  Result<bool> exists(const std::string& path, Watch watch, const CallLimit& limit);
  Result<bool> erase(const std::string& path, const CallLimit& limit);
  /// As exists(), but asks a majority, which proves that the session lives. Any other reading is
  /// answered by one server, which may be cut off from the others and not know yet.
  Result<bool> confirm(const std::string& path, const CallLimit& limit);
  base::Result<Committed, Rejected> commit(const Transaction& transaction, const CallLimit& limit);

  // ---- several at once: ready(), then what is to be sent, then answers ----

  Result<base::Done> ready(const CallLimit& limit);
  Asked<Node> send_get(const std::string& path, Watch watch);
  Asked<bool> send_exists(const std::string& path, Watch watch);
  Asked<Made> send_create(const std::string& path, const std::string& data, int flags);
  Asked<Children> send_children(const std::string& path);
  Asked<bool> send_erase(const std::string& path, int version = any_version);
  Asked<Committed> send(const Transaction& transaction);
  Result<std::optional<Node>> answer(const Asked<Node>& call, const CallLimit& limit);
  Result<bool> answer(const Asked<bool>& call, const CallLimit& limit);
  base::Result<Made, Error> answer(const Asked<Made>& call, const CallLimit& limit);
  Result<Children> answer(const Asked<Children>& call, const CallLimit& limit);
  base::Result<Committed, Rejected> answer(const Asked<Committed>& call, const CallLimit& limit);

  // ---- the connection ----

  /// Waits until there is one.
  Result<base::Done> await_connection(const CallLimit& limit);
  /// Gives up a server that takes questions and does not answer; the session goes on at another.
  void leave_server();
  /// Lets the library work until the limit, or until `done()`. Whether it is done.
  bool process(const CallLimit& limit, const std::function<bool()>& done);
  /// Readable when process() has something to do; -1 while there is no connection.
  [[nodiscard]] int descriptor() const { return socket_; }
  /// What has become of a watched node since this was last called.
  enum class Change { none, written, gone };
  Change change_of(const std::string& path);
  bool changed(const std::string& path) { return change_of(path) != Change::none; }

 private:
  explicit Session(bool secured) : secured_{secured} {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);

  /// `start` hands the question to the library; `question` is kept until the library has answered,
  /// which may be after this call has returned.
  template <class Answer>
  Asked<Answer> send(const std::function<int(void*)>& start,
                     const std::shared_ptr<const void>& question = nullptr);
  template <class Answer>
  base::Result<Answer, Error> await(const Asked<Answer>& call, const CallLimit& limit);

  [[nodiscard]] const ACL_vector* acl() const;
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
  Millis pause_{0};  // the last one before another attempt to connect
  std::optional<Moment> connected_since_;
  std::string server_;    // connected to last; empty once it has been passed over
  bool refused_ = false;  // our credentials
  std::map<std::string, Change> changed_;
};

}  // namespace store::zookeeper
