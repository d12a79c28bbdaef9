// Replaces tls.cpp if hiredis is too old for a custom transport, or OpenSSL is missing.
#include "store/redis/tls.hpp"

namespace store::redis {

Result<base::Done> start_tls(redisContext& /*context*/, const RedisServer::Tls& /*tls*/,
                             const std::string& /*host*/, const CallLimit& /*limit*/) {
  return Fault{Fault::Kind::unusable, "this rlock was built without TLS"};
}

bool refused_by_tls(const redisContext& /*context*/) {
  return false;
}

}  // namespace store::redis
