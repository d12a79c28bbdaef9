#include "store/redis/tls.hpp"

#include <fmt/format.h>
#include <hiredis/sds.h>

#include <algorithm>
#include <memory>

#include "store/redis/tls_settings.hpp"

namespace store::redis {
namespace {

/// What a context that speaks TLS carries along.
struct Session {
  const OpenSsl& library;
  OwnedSsl ssl;
  bool refused = false;
};

Session& session_of(const redisContext& context) {
  return *static_cast<Session*>(context.privctx);
}

/// Whether the other side said that it is about our certificate.
bool is_refusal(const OpenSsl& library) {
  constexpr int alerts = 1000;  // the reason of an alert is its number of RFC 8446, 6, and this
  const int alert = ERR_GET_REASON(library.ERR_peek_last_error()) - alerts;
  // From bad_certificate to access_denied, and handshake_failure, certificate_required.
  return (alert >= 42 && alert <= 49) || alert == 40 || alert == 116;
}

/// For hiredis: 0 is "later", -1 an error of which errstr tells.
ssize_t failure(redisContext& context, int result) {
  Session& session = session_of(context);
  const int error = session.library.SSL_get_error(session.ssl.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
  session.refused = is_refusal(session.library);
  const std::string why = error == SSL_ERROR_SSL ? "TLS: " + last_error(session.library)
                                                 : "the server closed the TLS connection";
  context.err = REDIS_ERR_OTHER;
  *std::copy_n(why.begin(), std::min(why.size(), sizeof context.errstr - 1), context.errstr) = '\0';
  return -1;
}

ssize_t read_tls(redisContext* context, char* buffer, std::size_t size) {
  Session& session = session_of(*context);
  session.library.ERR_clear_error();
  const int got = session.library.SSL_read(session.ssl.get(), buffer, static_cast<int>(size));
  return got > 0 ? got : failure(*context, got);
}

ssize_t write_tls(redisContext* context) {
  Session& session = session_of(*context);
  session.library.ERR_clear_error();
  const int size = static_cast<int>(sdslen(context->obuf));
  const int put = session.library.SSL_write(session.ssl.get(), context->obuf, size);
  if (put > 0) return put;
  const auto outcome = failure(*context, put);
  char ignored = 0;
  // The server hung up: it may have said why.
  if (outcome < 0 && !session.refused) (void)read_tls(context, &ignored, sizeof ignored);
  return outcome;
}

void free_session(void* session) {
  delete static_cast<Session*>(session);
}

/// Why a handshake failed that nobody interrupted.
Fault failed(const Session& session, int error, const std::string& name) {
  const OpenSsl& library = session.library;
  if (const auto result = library.SSL_get_verify_result(session.ssl.get()); result != X509_V_OK) {
    return {Fault::Kind::unusable, fmt::format("its certificate is not accepted for '{}': {}", name,
                                               library.X509_verify_cert_error_string(result))};
  }
  if (is_refusal(library)) return {Fault::Kind::denied, "TLS: " + last_error(library)};
  if (error == SSL_ERROR_SSL &&
      ERR_GET_REASON(library.ERR_peek_last_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return {Fault::Kind::unusable, "no TLS is spoken there: " + last_error(library)};
  }
  return {Fault::Kind::unreachable, "the server ended the TLS handshake"};
}

std::optional<Fault> shake_hands(const Session& session, int socket, const std::string& name,
                                 const CallLimit& limit) {
  const OpenSsl& library = session.library;
  library.SSL_set_fd(session.ssl.get(), socket);
  for (;;) {
    library.ERR_clear_error();
    const int done = library.SSL_connect(session.ssl.get());
    if (done == 1) return std::nullopt;
    const int error = library.SSL_get_error(session.ssl.get(), done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return failed(session, error, name);
    }
    const auto want = error == SSL_ERROR_WANT_READ ? os::Want::read : os::Want::write;
    switch (os::wait_for(socket, want, limit)) {
      case os::Ready::yes: break;
      case os::Ready::interrupted: return Fault{Fault::Kind::unreachable, "interrupted"};
      case os::Ready::timed_out:
        return Fault{Fault::Kind::unreachable,
                     "no answer to the TLS handshake: is TLS spoken there?"};
    }
  }
}

}  // namespace

std::optional<Fault> start_tls(redisContext& context, const RedisServer::Tls& tls,
                               const std::string& host, const CallLimit& limit) {
  const auto& loaded = openssl();
  if (const auto* why = std::get_if<std::string>(&loaded)) {
    return Fault{Fault::Kind::unusable, *why};
  }
  const OpenSsl& library = std::get<OpenSsl>(loaded);
  const std::string& name = tls.name.empty() ? host : tls.name;
  auto prepared = prepare(library, tls, name);
  if (auto* why = std::get_if<std::string>(&prepared)) return Fault{Fault::Kind::unusable, *why};
  auto session =
      std::make_unique<Session>(Session{library, std::get<OwnedSsl>(std::move(prepared))});
  if (auto fault = shake_hands(*session, context.fd, name, limit)) return fault;

  static const redisContextFuncs functions = [&] {
    redisContextFuncs own = *context.funcs;
    own.free_privctx = free_session;
    own.read = read_tls;
    own.write = write_tls;
    return own;
  }();
  context.funcs = &functions;
  context.privctx = session.release();
  return std::nullopt;
}

bool refused_by_tls(const redisContext& context) {
  return context.privctx != nullptr && session_of(context).refused;
}

}  // namespace store::redis
