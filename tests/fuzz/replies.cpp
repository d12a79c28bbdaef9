// Answers of Redis servers, sentinels and Cluster nodes, from the bytes on the wire to values.
#include <hiredis/hiredis.h>

#include "property.hpp"
#include "store/redis/client.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/scripts.hpp"
#include "store/rules/posts.hpp"

namespace {

using namespace store::redis;

int depth_of(const Reply& reply) {
  int deepest = 0;
  for (std::size_t i = 0; i < reply.size(); ++i) deepest = std::max(deepest, depth_of(reply[i]));
  return deepest + 1;
}

void look_at_text(std::string_view text) {
  const auto [token, mode] = waiter_in(text);
  fuzz::promise(text.ends_with(token.text()), "a waiter's token stands behind its mode");
  // Numbers are written in one way only, so others are not read back as they were.
  const auto [token_again, mode_again] = waiter_in(queue_id(token, mode));
  fuzz::promise(mode == store::Mode{} || (token_again == token && mode_again == mode),
                "a place in the queue is read back");
  if (const auto notice = store::rules::notice_in(text)) {
    fuzz::promise(base::is_printable(notice->why), "what others say is clean");
    fuzz::promise(notice->why.size() < 1000, "and short");
  }
  const auto fault = classify(text);
  fuzz::promise(base::is_printable(fault.why) && fault.why.size() < 1000,
                "an error is clean, short");
  ClusterRoute route;
  if (route.note(text)) {
    const auto nodes = route.candidates({});
    fuzz::promise(nodes.size() == 1, "one address");
    fuzz::promise(!std::get<store::RedisServer::Tcp>(nodes.front()).host.empty(), "it says where");
  }
}

void look_at(const Reply& reply) {
  fuzz::promise(depth_of(reply) <= ReplyLimits::deepest + 1, "no deeper than allowed");
  fuzz::promise(reply.size() <= ReplyLimits::most_elements, "no longer than allowed");
  const Fields fields{reply, 1};
  for (const auto& holder : {holder_in(reply), holder_in(fields["holder"])}) {
    if (!holder) continue;
    constexpr store::Millis century{std::int64_t{1000} * 60 * 60 * 24 * 365 * 100};
    for (const auto& length : {holder->held_for, holder->expires_in}) {
      fuzz::promise(!length || (*length >= store::Millis{0} && *length <= century), "a length");
    }
  }
  look_at_text(reply.text());
  for (std::size_t i = 0; i < reply.size() && i < 20; ++i) {
    look_at_text(reply[i].text());
    (void)unsigned_in(reply[i]);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader{redisReaderCreate(),
                                                                        &redisReaderFree};
  ReplyLimits limits;
  limits.rule(*reader);
  (void)redisReaderFeed(reader.get(), reinterpret_cast<const char*>(data), size);
  void* found = nullptr;
  while (redisReaderGetReply(reader.get(), &found) == REDIS_OK && found != nullptr) {
    limits.renew();
    look_at(Reply{static_cast<redisReply*>(found)});
  }
  look_at_text(fuzz::text_of(data, size));
  return 0;
}
