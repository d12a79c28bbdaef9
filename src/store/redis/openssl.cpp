#include "store/redis/openssl.hpp"

#include <dlfcn.h>

#include <type_traits>

#include <fmt/format.h>

namespace store::redis {
namespace {

// What the headers that this was compiled with belong to.
constexpr auto openssl_library = "libssl.so.3";

std::variant<OpenSsl, std::string> load() {
  void* handle = ::dlopen(openssl_library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fmt::format("TLS needs {}: {}", openssl_library, ::dlerror());
  OpenSsl ssl;
  const char* missing = nullptr;
  // libcrypto, on which libssl depends, is searched as well.
  const auto find = [&](auto& function, const char* name) {
    void* const address = ::dlsym(handle, name);
    if (address == nullptr) missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
  find(ssl.TLS_client_method, "TLS_client_method");
  find(ssl.SSL_CTX_new, "SSL_CTX_new");
  find(ssl.SSL_CTX_free, "SSL_CTX_free");
  find(ssl.SSL_CTX_ctrl, "SSL_CTX_ctrl");
  find(ssl.SSL_CTX_set_verify, "SSL_CTX_set_verify");
  find(ssl.SSL_CTX_set_default_verify_paths, "SSL_CTX_set_default_verify_paths");
  find(ssl.SSL_CTX_load_verify_locations, "SSL_CTX_load_verify_locations");
  find(ssl.SSL_CTX_use_certificate_chain_file, "SSL_CTX_use_certificate_chain_file");
  find(ssl.SSL_CTX_use_PrivateKey_file, "SSL_CTX_use_PrivateKey_file");
  find(ssl.SSL_CTX_set_default_passwd_cb, "SSL_CTX_set_default_passwd_cb");
  find(ssl.SSL_new, "SSL_new");
  find(ssl.SSL_free, "SSL_free");
  find(ssl.SSL_ctrl, "SSL_ctrl");
  find(ssl.SSL_set1_host, "SSL_set1_host");
  find(ssl.SSL_get0_param, "SSL_get0_param");
  find(ssl.X509_VERIFY_PARAM_set1_ip_asc, "X509_VERIFY_PARAM_set1_ip_asc");
  find(ssl.SSL_set_fd, "SSL_set_fd");
  find(ssl.SSL_connect, "SSL_connect");
  find(ssl.SSL_read, "SSL_read");
  find(ssl.SSL_write, "SSL_write");
  find(ssl.SSL_get_error, "SSL_get_error");
  find(ssl.SSL_get_verify_result, "SSL_get_verify_result");
  find(ssl.X509_verify_cert_error_string, "X509_verify_cert_error_string");
  find(ssl.ERR_peek_last_error, "ERR_peek_last_error");
  find(ssl.ERR_reason_error_string, "ERR_reason_error_string");
  find(ssl.ERR_clear_error, "ERR_clear_error");
  if (missing != nullptr) return fmt::format("{} has no {}", openssl_library, missing);
  return ssl;
}

}  // namespace

const std::variant<OpenSsl, std::string>& openssl() {
  static const auto loaded = load();
  return loaded;
}

}  // namespace store::redis
