// Replaces openssl.cpp in the program that loads no libraries, and if OpenSSL is missing.
#include "store/tls/tls.hpp"

namespace store::tls {

Result<std::unique_ptr<Session>> start(int /*socket*/, const TlsSettings& /*settings*/,
                                       const std::string& /*host*/, const CallLimit& /*limit*/) {
  return Fault{Fault::Kind::unusable, "this rlock was built without TLS"};
}

}  // namespace store::tls
