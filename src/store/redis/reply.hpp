// One answer of a Redis server.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string_view>

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

}  // namespace store::redis
