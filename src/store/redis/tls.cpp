// hiredis reads and writes through TLS.
#include "store/redis/tls.hpp"

#include <hiredis/sds.h>

#include <algorithm>

#include "store/tls/tls.hpp"

namespace store::redis {
namespace {

tls::Session& session_of(const redisContext& context) {
  return *static_cast<tls::Session*>(context.privctx);
}

/// For hiredis: 0 means "later", -1 an error described by errstr.
ssize_t told(redisContext& context, std::ptrdiff_t outcome) {
  if (outcome >= 0) return outcome;
  const std::string& why = session_of(context).why();
  context.err = REDIS_ERR_OTHER;
  *std::copy_n(why.begin(), std::min(why.size(), sizeof context.errstr - 1), context.errstr) = '\0';
  return -1;
}

ssize_t read_tls(redisContext* context, char* buffer, std::size_t size) {
  return told(*context, session_of(*context).read(buffer, size));
}

ssize_t write_tls(redisContext* context) {
  return told(*context, session_of(*context).write(context->obuf, sdslen(context->obuf)));
}

void free_session(void* session) {
  delete static_cast<tls::Session*>(session);
}

}  // namespace

Result<base::Done> start_tls(redisContext& context, const RedisServer::Tls& tls,
                             const std::string& host, const CallLimit& limit) {
  auto session = tls::start(context.fd, tls, host, limit);
  if (!session) return std::move(session).error();
  static const redisContextFuncs functions = [&] {
    redisContextFuncs own = *context.funcs;
    own.free_privctx = free_session;
    own.read = read_tls;
    own.write = write_tls;
    return own;
  }();
  context.funcs = &functions;
  context.privctx = session->release();
  return base::Done{};
}

bool refused_by_tls(const redisContext& context) {
  return context.privctx != nullptr && session_of(context).is_refused();
}

}  // namespace store::redis
