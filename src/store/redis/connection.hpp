// One connection to one Redis server: hiredis with limits on time and memory, interruptible.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

/// Owns a hiredis reply, or refers to an element of one. Reading it as another type returns an
/// empty text, 0 or an absent element: a hostile server cannot crash us here.
class Reply {
 public:
  explicit Reply(redisReply* owned) : owned_{owned}, reply_{owned} {}

  [[nodiscard]] bool is_error() const { return is(REDIS_REPLY_ERROR); }
  [[nodiscard]] bool is_integer() const { return is(REDIS_REPLY_INTEGER); }

  /// The text of a string, status or error; empty otherwise.
  [[nodiscard]] std::string_view text() const {
    const bool textual = is(REDIS_REPLY_STRING) || is(REDIS_REPLY_STATUS) || is_error();
    return textual ? std::string_view{reply_->str, static_cast<std::size_t>(reply_->len)}
                   : std::string_view{};
  }
  [[nodiscard]] std::int64_t integer() const { return is_integer() ? reply_->integer : 0; }

  [[nodiscard]] std::size_t size() const {
    return is(REDIS_REPLY_ARRAY) ? static_cast<std::size_t>(reply_->elements) : 0;
  }
  /// Must not outlive this reply.
  [[nodiscard]] Reply operator[](std::size_t i) const {
    return i < size() ? Reply{nullptr, reply_->element[i]} : Reply{nullptr, nullptr};
  }

 private:
  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  Reply(std::nullptr_t, redisReply* borrowed) : reply_{borrowed} {}
  [[nodiscard]] bool is(int type) const { return reply_ != nullptr && reply_->type == type; }

  std::unique_ptr<redisReply, Free> owned_;
  redisReply* reply_;
};

/// The limits of one answer: a broken or hostile server must not exhaust our memory. hiredis alone
/// accepts arrays of 2^32 elements and any depth, and frees them recursively until the stack
/// overflows.
class ReplyLimits {
 public:
  /// Bytes on the wire. An inspection of 100,000 waiters is 11 MB.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  /// Elements in all arrays of the answer together: 130,000 waiters.
  static constexpr std::size_t most_elements = std::size_t{1} << 18;
  /// Nesting of arrays. Ours are 2 deep, CLUSTER SLOTS is 4.
  static constexpr int deepest = 8;

  /// Bytes of a line; only texts, which announce their length, may be longer. hiredis searches for
  /// the end of a line from its beginning each time a piece arrives: for 16 MB that takes seconds.
  static constexpr std::size_t longest_line = std::size_t{64} << 10;

  /// Counts arrived bytes; false if they, or a line of them, are too many.
  bool take(const redisReader& reader, std::size_t bytes);
  /// The next answer begins.
  void renew() { *this = ReplyLimits{}; }
  /// Makes `reader` report "out of memory" when an answer exceeds this object, which must stay in
  /// place.
  void rule(redisReader& reader);

 private:
  template <class Size>
  static void* create_array(const redisReadTask* task, Size size);

  std::size_t bytes_ = most_bytes;
  std::size_t elements_ = most_elements;
};

using Command = std::vector<std::string>;

/// A hiredis context cannot recover, so a connection is closed after its first Fault, and also to
/// abandon a command that blocks in it. Its socket is non-blocking and close-on-exec. One thread at
/// a time.
class Connection {
 public:
  /// Connects, performs the TLS handshake if needed, authenticates and selects the database.
  static Result<Connection> open(const RedisServer::Address& address,
                                 const RedisServer::Access& access, const CallLimit& limit);

  /// Passes the command to the kernel.
  Result<base::Done> send(const Command& command, const CallLimit& limit) {
    return send(std::span{&command, 1}, limit);
  }
  Result<base::Done> send(std::span<const Command> commands, const CallLimit& limit);
  /// The next answer; nothing if the limit ended first, in which case the call may be repeated.
  Result<std::optional<Reply>> receive(const CallLimit& limit);
  /// The same; the end of the limit is a Fault here. So is an error reply, except NOSCRIPT, MOVED
  /// and ASK, which are returned to the caller.
  Result<Reply> answer(const CallLimit& limit);
  /// Sends and waits for the answer().
  Result<Reply> ask(const Command& command, const CallLimit& limit);

  /// The Fault for an error reply, without our secrets: a server that does not know AUTH quotes its
  /// arguments.
  [[nodiscard]] Fault fault_in(const Reply& error) const;

  [[nodiscard]] int descriptor() const { return context_->fd; }
  /// Whether the server has closed the connection: a command sent now would certainly be lost, but
  /// would look as if it might have arrived.
  [[nodiscard]] bool hung_up() const;

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  explicit Connection(redisContext* context) : context_{context} {}
  Result<base::Done> greet(const RedisServer::Access& access, const CallLimit& limit);

  [[nodiscard]] Fault broken() const;

  std::unique_ptr<ReplyLimits> limits_ =
      std::make_unique<ReplyLimits>();  // the reader points to it
  std::unique_ptr<redisContext, Free> context_;
  std::vector<base::Secret> told_;  // secrets that the server has received
  bool may_want_tls_ = false;       // a plain-text port that has never sent anything
};

/// The Fault for an error reply of the server.
Fault classify(std::string_view error);
/// Whether the server refuses us a command: by an ACL, or because it is unknown, as after a rename,
/// and on managed servers and proxies that forbid it.
bool refuses_command(const Fault& fault);

/// Adds which of several servers failed.
Fault named(const RedisServer::Tcp& where, Fault fault);
/// The same, for a fault before any request that matters to a lock.
Fault on_the_way(const RedisServer::Tcp& where, Fault fault);

}  // namespace store::redis
