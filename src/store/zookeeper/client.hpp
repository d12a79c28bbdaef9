// A session with a ZooKeeper ensemble: the client library, made bounded in time and interruptible.
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/lock_store.hpp"
#include "store/sessions/session.hpp"
#include "store/zookeeper/ensemble.hpp"
#include "store/zookeeper/session_time.hpp"

namespace store::zookeeper {

/// The error for a code of the library.
sessions::Error error_of(int code);

/// A node, and the session that it ends with, if any.
struct OwnedNode {
  sessions::Node node;
  std::int64_t owner = 0;
};

/// The names below a node, and the node's own numbers.
struct Below {
  std::vector<std::string> names;
  ::Stat stat;
};

/// A question under way. Its own reference keeps it alive until the library answers, which it does
/// exactly once, at the latest when the session is closed.
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
  /// library takes for a lost one. Data in the kernel by then (some MB) still counts.
  void enforce(int socket);

 private:
  std::uint64_t before_ = 0;  // what it had brought when the question was asked
};

/// The client library's session. The library is the single-threaded one: everything happens in
/// these calls, and no thread of it is there when the job is forked. It connects again by itself,
/// and not to the server that was just lost.
class Client final : public sessions::Session {
 public:
  /// `timeout` is how long the ensemble is to keep the session without a sign of life.
  static Result<std::shared_ptr<Client>> open(const ZooKeeper& ensemble, Millis timeout,
                                              const CallLimit& limit);
  /// Says goodbye to the server, if there is one: the session ends at once.
  ~Client() override;

  /// The length that the ensemble agreed to.
  [[nodiscard]] Millis timeout() const { return Millis{zoo_recv_timeout(handle_)}; }

  /// Whether clients without a user may change the node below which the locks are, or would if it
  /// were there.
  Result<bool> anyone_may_write(const CallLimit& limit);

  [[nodiscard]] bool expired() const override {
    return zoo_state(handle_) == ZOO_EXPIRED_SESSION_STATE;
  }
  [[nodiscard]] Ttl lease_within(Ttl wanted) const override {
    return zookeeper::lease_within(timeout(), wanted);
  }
  [[nodiscard]] Moment lease_counts_from(Moment asked_at) const override {
    return contact_.counts_from(asked_at);
  }
  [[nodiscard]] sessions::Places places_of(const LockName& name) const override;
  [[nodiscard]] std::string last_word_of(std::string_view nonce) const override;
  Result<std::vector<LockName>> names(const std::string& pattern, const CallLimit& limit) override;
  std::int64_t now_ms(const CallLimit& limit) override;

  sessions::Answers ask(const sessions::Round& round, const CallLimit& limit) override;
  Result<bool> keep(const std::string& path, const CallLimit& limit) override;

  Result<base::Done> await_connection(const CallLimit& limit) override;
  void leave_server() override;
  bool process(const CallLimit& limit, const std::function<bool()>& done) override;
  [[nodiscard]] int descriptor() const override { return socket_; }
  Change change_of(const std::string& path) override;

 private:
  explicit Client(const ZooKeeper& ensemble)
      : base_{ensemble.base}, secured_{!ensemble.user.empty()} {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);

  // ---- questions (questions.cpp) ----

  /// Several can be sent before the first is waited for: a server answers in order. `start` hands
  /// the question to the library; `question` is kept until the library has answered, which may be
  /// after this call has returned.
  template <class Answer>
  Asked<Answer> send(const std::function<int(void*)>& start,
                     const std::shared_ptr<const void>& question = nullptr);
  template <class Answer>
  base::Result<Answer, sessions::Error> await(const Asked<Answer>& call, const CallLimit& limit);

  Result<base::Done> ready(const CallLimit& limit);
  Asked<OwnedNode> send_get(const std::string& path);
  Asked<bool> send_exists(const std::string& path, sessions::Watch watch);
  Asked<sessions::Made> send_create(const std::string& path, const std::string& text, int flags);
  Asked<Below> send_children(const std::string& path);
  Asked<bool> send_erase(const std::string& path, std::int64_t version);
  Asked<sessions::Committed> send(const sessions::Transaction& transaction);

  using Outcome = base::Result<sessions::Committed, sessions::Rejected>;
  Outcome outcome_of(const Asked<sessions::Committed>& call, const CallLimit& limit);
  Outcome outcome_of(const Asked<sessions::Made>& call, const CallLimit& limit);
  Result<std::optional<sessions::Node>> node_of(const Asked<OwnedNode>& call,
                                                const CallLimit& limit);
  Result<sessions::Children> children_of(const std::string& path, const Asked<Below>& call,
                                         bool is_queue, const CallLimit& limit);
  sessions::Answers ask_once(const sessions::Round& round, const CallLimit& limit);
  void erase_leftovers(const sessions::Transaction& change);

  // ---- the nodes on the way to others (places.cpp) ----

  /// Creates the nodes that are known to be missing above `path`, without waiting for it.
  void send_way_to(const std::string& path);
  /// Creates those that were missing after all. False: it may not, or cannot.
  Result<bool> make_way_to(const std::string& path, const CallLimit& limit);

  // ---- the connection (client.cpp) ----

  [[nodiscard]] const ACL_vector* acl() const;
  [[nodiscard]] bool is_connected() const { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }
  void step(const CallLimit& limit);
  [[nodiscard]] bool has_no_server() const;
  [[nodiscard]] bool is_no_zookeeper() const;
  void hang_up();
  void pass_over();

  std::string base_;  // the node below which the locks are
  bool secured_;      // the nodes that we make belong to us
  zhandle_t* handle_ = nullptr;
  int socket_ = -1;
  ReceiveLimit receive_limit_;
  ServerTrial trial_;
  Contact contact_;
  Millis pause_{0};  // the last one before another attempt to connect
  std::optional<Moment> connected_since_;
  std::string server_;    // connected to last; empty once it has been passed over
  bool refused_ = false;  // our credentials
  std::map<std::string, Change> changed_;
  std::set<std::string> missing_;            // nodes that were not there when they were asked for
  std::optional<std::int64_t> clock_ahead_;  // ms by which the servers' clock is ahead of ours
};

}  // namespace store::zookeeper
