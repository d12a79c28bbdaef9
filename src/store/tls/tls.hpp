// Encryption of a connection, which verifies its peer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "store/lock_store.hpp"
#include "store/tls/settings.hpp"

namespace store::tls {

/// TLS on a connected, non-blocking socket, which it does not own.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  /// Neither waits. 0: nothing could be done now, and wants() is what that waits for; -1: the
  /// connection is over, see why().
  virtual std::ptrdiff_t read(char* buffer, std::size_t size) = 0;
  virtual std::ptrdiff_t write(const char* bytes, std::size_t size) = 0;
  [[nodiscard]] virtual os::Want wants() const = 0;
  [[nodiscard]] virtual const std::string& why() const = 0;
  /// Whether the server refuses our certificate, or requires one. In TLS 1.3 it says so only after
  /// the handshake.
  [[nodiscard]] virtual bool is_refused() const = 0;
};

/// Performs a handshake (TLS 1.2 or newer). The server's certificate must be trusted and be for
/// `host`, a name or an address, or for the name in the settings.
Result<std::unique_ptr<Session>> start(int socket, const TlsSettings& settings,
                                       const std::string& host, const CallLimit& limit);

}  // namespace store::tls
