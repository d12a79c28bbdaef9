// One connection to one Redis server: hiredis, made bounded in time, in memory and interruptible.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/lock_store.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

/// Owns a hiredis reply, or looks into one that somebody owns (an element). Reading it as what it
/// is not yields an empty text, 0 or an absent element: a hostile server cannot make us crash here.
class Reply {
 public:
  explicit Reply(redisReply* owned) : owned_{owned}, reply_{owned} {}

  [[nodiscard]] bool is_error() const { return is(REDIS_REPLY_ERROR); }
  [[nodiscard]] bool is_integer() const { return is(REDIS_REPLY_INTEGER); }

  /// A string, status or error; else empty.
  [[nodiscard]] std::string_view text() const {
    const bool textual = is(REDIS_REPLY_STRING) || is(REDIS_REPLY_STATUS) || is_error();
    return textual ? std::string_view{reply_->str, static_cast<std::size_t>(reply_->len)}
                   : std::string_view{};
  }
  [[nodiscard]] std::int64_t integer() const { return is_integer() ? reply_->integer : 0; }

  [[nodiscard]] std::size_t size() const {
    return is(REDIS_REPLY_ARRAY) ? static_cast<std::size_t>(reply_->elements) : 0;
  }
  /// Lives no longer than this reply.
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

/// How much one answer may still cost us: a server that is broken, or hostile, must not take our
/// memory. hiredis alone takes arrays of 2^32
/// elements and any depth, which it then frees by recursion, until the stack is used up.
class ReplyLimits {
 public:
  /// Bytes on the wire. An inspection of 100,000 waiters is 11 MB.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  /// In all arrays of the answer together: 130,000 waiters.
  static constexpr std::size_t most_elements = std::size_t{1} << 18;
  /// Arrays in arrays. Ours are 2 deep, CLUSTER SLOTS is 4.
  static constexpr int deepest = 8;

  /// Bytes of a line, which is all but texts, whose length is sent first. hiredis looks for the end
  /// of a line from its beginning with each piece that comes in: for 16 MB, seconds of processor.
  static constexpr std::size_t longest_line = std::size_t{64} << 10;

  /// So many bytes came in; false if they are too many, or a line of them too long.
  bool take(const redisReader& reader, std::size_t bytes);
  /// The next answer begins.
  void renew() { *this = ReplyLimits{}; }
  /// From now on `reader` says "out of memory" where an answer exceeds this object, which must stay
  /// where it is.
  void rule(redisReader& reader);

 private:
  template <class Size>
  static void* create_array(const redisReadTask* task, Size size);

  std::size_t bytes_ = most_bytes;
  std::size_t elements_ = most_elements;
};

using Command = std::vector<std::string>;

/// A hiredis context never heals, so a connection is thrown away after its first Fault, and also
/// to abandon a command that it is blocked in. Its socket is non-blocking and close-on-exec. One
/// thread at a time.
class Connection {
 public:
  /// Connects, shakes hands over TLS if need be, authenticates and selects the database.
  static Result<Connection> open(const RedisServer::Address& address,
                                 const RedisServer::Access& access, const CallLimit& limit);

  /// Hands the command to the kernel.
  Result<base::Done> send(const Command& command, const CallLimit& limit);
  /// The next answer; nothing when the limit ended first, in which case it may be asked for again.
  Result<std::optional<Reply>> receive(const CallLimit& limit);
  /// Both; a limit that ends is a Fault here. An error the server answers is one, too, except
  /// NOSCRIPT, MOVED and ASK, which are returned for the caller to resolve.
  Result<Reply> ask(const Command& command, const CallLimit& limit);

  /// What an error answer means, without a secret of ours: a server that does not know AUTH repeats
  /// its arguments.
  [[nodiscard]] Fault fault_in(const Reply& error) const;

  [[nodiscard]] int descriptor() const { return context_->fd; }
  /// Whether the server has ended the connection: a command that is sent now is lost for certain,
  /// but would look as if it might have been heard.
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
  std::vector<base::Secret> told_;  // that the server has heard
  bool may_want_tls_ = false;       // a port in plain text that has never said anything
};

/// What an error answer of the server means.
Fault classify(std::string_view error);
/// Whether the server does not let us use a command: by an ACL, or because it does not know it, as
/// where its name was taken away and on managed servers and proxies that forbid it.
bool refuses_command(const Fault& fault);

/// What went wrong at `where`, which is one of several servers.
Fault named(const RedisServer::Tcp& where, Fault fault);
/// The same, for a fault that came before any question that matters to a lock.
Fault on_the_way(const RedisServer::Tcp& where, Fault fault);

}  // namespace store::redis
