#include "store/redis/allowance.hpp"

#include <cstring>

namespace store::redis {
namespace {

/// What a reader of hiredis makes of an answer; it has no other way to hand that out.
const redisReplyObjectFunctions& usual() {
  static const redisReplyObjectFunctions functions = [] {
    redisReader* reader = redisReaderCreate();
    const redisReplyObjectFunctions copy = *reader->fn;
    redisReaderFree(reader);
    return copy;
  }();
  return functions;
}

int depth_of(const redisReadTask* task) {
  int depth = 1;
  while ((task = task->parent) != nullptr) ++depth;
  return depth;
}

}  // namespace

bool Allowance::take(const redisReader& reader, std::size_t bytes) {
  if (bytes > bytes_) return false;
  bytes_ -= bytes;
  // What comes before a text is a line as well, so there is an end near in any case.
  return reader.len - reader.pos <= longest_line ||
         std::memchr(reader.buf + reader.pos, '\n', longest_line) != nullptr;
}

template <class Size>  // it was an int before hiredis 1.0
void* Allowance::create_array(const redisReadTask* task, Size size) {
  auto& left = static_cast<Allowance*>(task->privdata)->elements_;
  const auto elements = static_cast<std::size_t>(size);
  if (elements > left || depth_of(task) > deepest) return nullptr;
  left -= elements;
  return usual().createArray(task, size);
}

void Allowance::rule(redisReader& reader) {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions copy = usual();
    copy.createArray = create_array;
    return copy;
  }();
  reader.fn = &functions;
  reader.privdata = this;
}

}  // namespace store::redis
