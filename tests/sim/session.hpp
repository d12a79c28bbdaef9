// A connection to the double, as bytes: what arrives may be cut anywhere, and so may what is
// answered.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "redis_double.hpp"
#include "resp.hpp"

namespace sim {

/// The server's end. Commands are executed in their order, as soon as they are whole; those behind
/// one that blocks wait for its answer. Closed by its destructor, which leaves what was executed as
/// it is.
class Session {
 public:
  Session(RedisDouble& server, std::uint64_t id) : server_{server} { client_.id = id; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { server_.forget(client_); }

  /// Bytes from the client. Throws std::runtime_error at what is no command.
  void receive(std::string_view bytes, Micros now) {
    commands_.feed(bytes);
    go_on(now);
  }
  /// The answer to what it was blocked in (RedisDouble::take_answered).
  void answer(const Reply& reply, Micros now) {
    output_ += encode(reply);
    go_on(now);
  }
  /// The data that the server has sent since.
  std::string take_output() { return std::exchange(output_, {}); }

  [[nodiscard]] const Client& client() const { return client_; }
  /// Sees each command that was answered at once.
  using Watcher = std::function<void(const Words&, const Reply&, Micros)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

 private:
  void go_on(Micros now) {
    while (!client_.waits) {
      const auto command = commands_.take_command();
      if (!command) return;
      if (command->empty()) continue;
      const auto reply = server_.execute(client_, *command, now);
      if (!reply) continue;
      output_ += encode(*reply);
      if (watcher_) watcher_(*command, *reply, now);
    }
  }

  RedisDouble& server_;
  Client client_;
  RespReader commands_;
  std::string output_;
  Watcher watcher_;
};

}  // namespace sim
