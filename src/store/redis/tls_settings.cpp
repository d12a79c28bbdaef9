#include "store/redis/tls_settings.hpp"

#include <fmt/format.h>

#include <optional>

#include "os/file.hpp"
#include "os/trusted_file.hpp"

namespace store::redis {
namespace {

using Trouble = std::optional<std::string>;  // nothing if all is well

/// OpenSSL has no good word for a file that is not there.
Trouble unreadable(const char* what, const std::string& file) {
  const auto text = os::contents_of(file);
  if (text) return std::nullopt;
  return fmt::format("cannot read the {} '{}': {}", what, file, text.error().text());
}

Trouble load_files(const OpenSsl& library, SSL_CTX* context, const RedisServer::Tls& tls) {
  const auto cannot = [&](const char* what, const std::string& file) {
    return fmt::format("cannot use the {} '{}': {}", what, file, last_error(library));
  };
  if (tls.ca_file.empty()) {
    library.SSL_CTX_set_default_verify_paths(context);
  } else if (auto trouble = unreadable("CA file", tls.ca_file)) {
    return trouble;
  } else if (library.SSL_CTX_load_verify_locations(context, tls.ca_file.c_str(), nullptr) != 1) {
    return cannot("CA file", tls.ca_file);
  }
  if (tls.certificate_file.empty()) return std::nullopt;
  if (auto trouble = unreadable("certificate", tls.certificate_file)) return trouble;
  if (const auto key = os::check_secret(tls.key_file); !key) {
    return fmt::format("cannot use the key '{}': {}", tls.key_file, key.error().text());
  }
  if (library.SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) != 1) {
    return cannot("certificate", tls.certificate_file);
  }
  // Nobody is there to type a pass phrase.
  library.SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (library.SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot("key", tls.key_file);
  }
  return std::nullopt;
}

/// Whose certificate it must be. An address cannot be asked for by SNI (RFC 6066, 3).
void expect(const OpenSsl& library, SSL* ssl, const std::string& name) {
  if (library.X509_VERIFY_PARAM_set1_ip_asc(library.SSL_get0_param(ssl), name.c_str()) == 1) return;
  library.SSL_set1_host(ssl, name.c_str());
  std::string copy = name;
  library.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, copy.data());
}

}  // namespace

std::string last_error(const OpenSsl& library) {
  const char* reason = library.ERR_reason_error_string(library.ERR_peek_last_error());
  return reason == nullptr ? "unknown error" : reason;
}

std::variant<OwnedSsl, std::string> prepare(const OpenSsl& library, const RedisServer::Tls& tls,
                                            const std::string& name) {
  const SslFree free{&library};
  const std::unique_ptr<SSL_CTX, SslFree> context{library.SSL_CTX_new(library.TLS_client_method()),
                                                  free};
  if (!context) return last_error(library);
  library.SSL_CTX_ctrl(context.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  // hiredis may move its buffer before it writes on.
  library.SSL_CTX_ctrl(context.get(), SSL_CTRL_MODE,
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                       nullptr);
  library.SSL_CTX_set_verify(context.get(), tls.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                             nullptr);
  if (auto trouble = load_files(library, context.get(), tls)) return *std::move(trouble);
  OwnedSsl ssl{library.SSL_new(context.get()), free};
  if (!ssl) return last_error(library);
  expect(library, ssl.get(), name);
  return ssl;
}

}  // namespace store::redis
