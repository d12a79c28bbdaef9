// Whom a TLS connection trusts, what it shows, and whom it expects.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "store/redis/openssl.hpp"
#include "store/redis/server.hpp"

namespace store::redis {

struct SslFree {
  const OpenSsl* library;
  void operator()(SSL* ssl) const { library->SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { library->SSL_CTX_free(context); }
};
using OwnedSsl = std::unique_ptr<SSL, SslFree>;

/// A connection-to-be with the files of `tls` that accepts a certificate for `name` (a host or an
/// address) only; or why there is none.
std::variant<OwnedSsl, std::string> prepare(const OpenSsl& library, const RedisServer::Tls& tls,
                                            const std::string& name);

/// The library's last error, for people.
std::string last_error(const OpenSsl& library);

}  // namespace store::redis
