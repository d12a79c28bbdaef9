// How much one answer may cost us: a server that is broken, or no friend, must not take our memory.
#pragma once

#include <cstdint>

namespace store::zookeeper {

/// What may come in until an answer is there. The library takes as much as an answer claims to be
/// long, up to 2 GB; what a server sends without being asked (events, signs of life) counts too.
class Allowance {
 public:
  /// Bytes on the wire. 100,000 names of waiters are 8 MB.
  static constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;

  /// A question is about to be asked over this connection.
  void renew(int socket);
  /// Called before the library reads: ends a connection that has brought too much, which the
  /// library takes for one that is lost. What the kernel has of it by then (some MB) still counts.
  void enforce(int socket);

 private:
  std::uint64_t before_ = 0;  // what it had brought when the question was asked
};

}  // namespace store::zookeeper
