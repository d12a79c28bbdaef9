#include "store/tls/tls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "base/result.hpp"
#include "os/file.hpp"
#include "os/trusted_file.hpp"

// OpenSSL is loaded for the first connection that needs it. Linking it would double the start of
// every run, with or without TLS (4.1 million instructions instead of 1 with the same program).

namespace store::tls {
namespace {

// ---- the library --------------------------------------------------------------------------------

/// Every function of libssl and libcrypto that is used here.
struct OpenSsl {
  decltype(&::TLS_client_method) TLS_client_method = nullptr;
  decltype(&::SSL_CTX_new) SSL_CTX_new = nullptr;
  decltype(&::SSL_CTX_free) SSL_CTX_free = nullptr;
  decltype(&::SSL_CTX_ctrl) SSL_CTX_ctrl = nullptr;
  decltype(&::SSL_CTX_set_verify) SSL_CTX_set_verify = nullptr;
  decltype(&::SSL_CTX_set_default_verify_paths) SSL_CTX_set_default_verify_paths = nullptr;
  decltype(&::SSL_CTX_load_verify_locations) SSL_CTX_load_verify_locations = nullptr;
  decltype(&::SSL_CTX_use_certificate_chain_file) SSL_CTX_use_certificate_chain_file = nullptr;
  decltype(&::SSL_CTX_use_PrivateKey_file) SSL_CTX_use_PrivateKey_file = nullptr;
  decltype(&::SSL_CTX_set_default_passwd_cb) SSL_CTX_set_default_passwd_cb = nullptr;
  decltype(&::SSL_new) SSL_new = nullptr;
  decltype(&::SSL_free) SSL_free = nullptr;
  decltype(&::SSL_ctrl) SSL_ctrl = nullptr;
  decltype(&::SSL_set1_host) SSL_set1_host = nullptr;
  decltype(&::SSL_get0_param) SSL_get0_param = nullptr;
  decltype(&::X509_VERIFY_PARAM_set1_ip_asc) X509_VERIFY_PARAM_set1_ip_asc = nullptr;
  decltype(&::SSL_set_fd) SSL_set_fd = nullptr;
  decltype(&::SSL_connect) SSL_connect = nullptr;
  decltype(&::SSL_read) SSL_read = nullptr;
  decltype(&::SSL_write) SSL_write = nullptr;
  decltype(&::SSL_get_error) SSL_get_error = nullptr;
  decltype(&::SSL_get_verify_result) SSL_get_verify_result = nullptr;
  decltype(&::X509_verify_cert_error_string) X509_verify_cert_error_string = nullptr;
  decltype(&::ERR_peek_last_error) ERR_peek_last_error = nullptr;
  decltype(&::ERR_reason_error_string) ERR_reason_error_string = nullptr;
  decltype(&::ERR_clear_error) ERR_clear_error = nullptr;
};

// The library of the headers that this was compiled with.
constexpr auto openssl_library = "libssl.so.3";

base::Result<OpenSsl, std::string> load() {
  void* handle = ::dlopen(openssl_library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fmt::format("TLS needs {}: {}", openssl_library, ::dlerror());
  OpenSsl ssl;
  const char* missing = nullptr;
  // Also searches libcrypto, on which libssl depends.
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

/// The library (loaded once and kept), or the reason why there is none. Any thread.
const base::Result<OpenSsl, std::string>& openssl() {
  static const auto loaded = load();
  return loaded;
}

/// The library's last error, for people.
std::string last_error(const OpenSsl& library) {
  const char* reason = library.ERR_reason_error_string(library.ERR_peek_last_error());
  return reason == nullptr ? "unknown error" : reason;
}

// ---- what is trusted, shown and expected --------------------------------------------------------

struct SslFree {
  const OpenSsl* library;
  void operator()(SSL* ssl) const { library->SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { library->SSL_CTX_free(context); }
};
using OwnedSsl = std::unique_ptr<SSL, SslFree>;

using TlsTrouble = std::optional<std::string>;  // nothing on success

/// OpenSSL's message for a missing file is unclear.
TlsTrouble unreadable(const char* what, const std::string& file) {
  const auto text = os::contents_of(file);
  if (text) return std::nullopt;
  return fmt::format("cannot read the {} '{}': {}", what, file, text.error().text());
}

TlsTrouble load_files(const OpenSsl& library, SSL_CTX* context, const TlsSettings& tls) {
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
  // OpenSSL would ask for a pass phrase on the terminal.
  library.SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (library.SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return cannot("key", tls.key_file);
  }
  return std::nullopt;
}

/// Sets the expected owner of the certificate. SNI cannot contain an address (RFC 6066, 3).
void expect(const OpenSsl& library, SSL* ssl, const std::string& name) {
  if (library.X509_VERIFY_PARAM_set1_ip_asc(library.SSL_get0_param(ssl), name.c_str()) == 1) return;
  library.SSL_set1_host(ssl, name.c_str());
  std::string copy = name;
  library.SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, copy.data());
}

/// A prepared connection with the files of `tls` that accepts only a certificate for `name` (a host
/// or an address); or why there is none.
base::Result<OwnedSsl, std::string> prepare(const OpenSsl& library, const TlsSettings& tls,
                                            const std::string& name) {
  const SslFree free{&library};
  const std::unique_ptr<SSL_CTX, SslFree> context{library.SSL_CTX_new(library.TLS_client_method()),
                                                  free};
  if (!context) return last_error(library);
  library.SSL_CTX_ctrl(context.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  // A writer may move its buffer before it writes on.
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

// ---- the connection -----------------------------------------------------------------------------

/// Whether the other side refused our certificate.
bool is_refusal(const OpenSsl& library) {
  constexpr int alerts = 1000;  // the reason of an alert is this plus its number in RFC 8446, 6
  const int alert = ERR_GET_REASON(library.ERR_peek_last_error()) - alerts;
  // From bad_certificate to access_denied, and handshake_failure, certificate_required.
  return (alert >= 42 && alert <= 49) || alert == 40 || alert == 116;
}

class OpenSslSession final : public Session {
 public:
  OpenSslSession(const OpenSsl& library, OwnedSsl ssl) : library_{library}, ssl_{std::move(ssl)} {}

  std::ptrdiff_t read(char* buffer, std::size_t size) override {
    library_.ERR_clear_error();
    const int got = library_.SSL_read(ssl_.get(), buffer, length(size));
    return got > 0 ? got : failure(got);
  }
  std::ptrdiff_t write(const char* bytes, std::size_t size) override {
    library_.ERR_clear_error();
    const int put = library_.SSL_write(ssl_.get(), bytes, length(size));
    if (put > 0) return put;
    const auto outcome = failure(put);
    char ignored = 0;
    // The server hung up: it may have said why.
    if (outcome < 0 && !refused_) (void)read(&ignored, sizeof ignored);
    return outcome;
  }
  [[nodiscard]] os::Want wants() const override { return wants_; }
  [[nodiscard]] const std::string& why() const override { return why_; }
  [[nodiscard]] bool is_refused() const override { return refused_; }

  Result<base::Done> shake_hands(int socket, const std::string& name, const CallLimit& limit);

 private:
  static int length(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  }
  std::ptrdiff_t failure(int result) {
    const int error = library_.SSL_get_error(ssl_.get(), result);
    wants_ = error == SSL_ERROR_WANT_WRITE ? os::Want::write : os::Want::read;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
    refused_ = is_refusal(library_);
    why_ = error == SSL_ERROR_SSL ? "TLS: " + last_error(library_)
                                  : "the server closed the TLS connection";
    return -1;
  }
  [[nodiscard]] Fault handshake_failure(int error, const std::string& name) const;

  const OpenSsl& library_;
  OwnedSsl ssl_;
  os::Want wants_ = os::Want::read;
  std::string why_;
  bool refused_ = false;
};

/// Why a handshake failed that was not interrupted.
Fault OpenSslSession::handshake_failure(int error, const std::string& name) const {
  const OpenSsl& library = library_;
  if (const auto result = library.SSL_get_verify_result(ssl_.get()); result != X509_V_OK) {
    const bool other_name =
        result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH;
    // A Cluster may name its nodes by addresses that no certificate has.
    return {Fault::Kind::unusable,
            fmt::format("its certificate is not accepted for '{}': {}{}", name,
                        library.X509_verify_cert_error_string(result),
                        other_name ? "; sni=NAME in the URL says which name it must have" : "")};
  }
  if (is_refusal(library)) return {Fault::Kind::denied, "TLS: " + last_error(library)};
  if (error == SSL_ERROR_SSL &&
      ERR_GET_REASON(library.ERR_peek_last_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return {Fault::Kind::unusable, "the server does not speak TLS: " + last_error(library)};
  }
  return {Fault::Kind::unreachable, "the server ended the TLS handshake"};
}

Result<base::Done> OpenSslSession::shake_hands(int socket, const std::string& name,
                                               const CallLimit& limit) {
  const OpenSsl& library = library_;
  library.SSL_set_fd(ssl_.get(), socket);
  for (;;) {
    library.ERR_clear_error();
    const int done = library.SSL_connect(ssl_.get());
    if (done == 1) return base::Done{};
    const int error = library.SSL_get_error(ssl_.get(), done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return handshake_failure(error, name);
    }
    const auto want = error == SSL_ERROR_WANT_READ ? os::Want::read : os::Want::write;
    switch (os::wait_for(socket, want, limit)) {
      case os::Ready::yes: break;
      case os::Ready::interrupted: return Fault{Fault::Kind::unreachable, "interrupted"};
      case os::Ready::timed_out:
        return Fault{Fault::Kind::unreachable,
                     "no answer to the TLS handshake: does the server speak TLS?"};
    }
  }
}

}  // namespace

Result<std::unique_ptr<Session>> start(int socket, const TlsSettings& settings,
                                       const std::string& host, const CallLimit& limit) {
  const auto& loaded = openssl();
  if (!loaded) return Fault{Fault::Kind::unusable, loaded.error()};
  const std::string& name = settings.name.empty() ? host : settings.name;
  auto prepared = prepare(*loaded, settings, name);
  // The files are on this host: a retry cannot help.
  if (!prepared) return Fault{Fault::Kind::misconfigured, prepared.error()};
  auto session = std::make_unique<OpenSslSession>(*loaded, *std::move(prepared));
  if (auto shaken = session->shake_hands(socket, name, limit); !shaken) {
    return std::move(shaken).error();
  }
  return std::unique_ptr<Session>{std::move(session)};
}

}  // namespace store::tls
