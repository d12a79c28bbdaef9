// OpenSSL, loaded when the first connection wants it: linking it would double the start of every
// run, TLS or not (4.1 million instructions instead of 1 with the same program).
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>
#include <variant>

namespace store::redis {

/// Every function of libssl and libcrypto that is used here.
// clang-format off
#define RLOCK_OPENSSL_FUNCTIONS(each) \
  each(TLS_client_method) each(SSL_CTX_new) each(SSL_CTX_free) each(SSL_CTX_ctrl) \
  each(SSL_CTX_set_verify) each(SSL_CTX_set_default_verify_paths) \
  each(SSL_CTX_load_verify_locations) each(SSL_CTX_use_certificate_chain_file) \
  each(SSL_CTX_use_PrivateKey_file) each(SSL_CTX_set_default_passwd_cb) each(SSL_new) \
  each(SSL_free) each(SSL_ctrl) each(SSL_set1_host) each(SSL_get0_param) \
  each(X509_VERIFY_PARAM_set1_ip_asc) each(SSL_set_fd) each(SSL_connect) each(SSL_read) \
  each(SSL_write) each(SSL_get_error) each(SSL_get_verify_result) \
  each(X509_verify_cert_error_string) each(ERR_peek_last_error) \
  each(ERR_reason_error_string) each(ERR_clear_error)
// clang-format on

struct OpenSsl {
#define RLOCK_DECLARE(name) decltype(&::name) name = nullptr;
  RLOCK_OPENSSL_FUNCTIONS(RLOCK_DECLARE)
#undef RLOCK_DECLARE
};

/// The library (loaded once and kept), or why there is none. Any thread.
const std::variant<OpenSsl, std::string>& openssl();

}  // namespace store::redis
