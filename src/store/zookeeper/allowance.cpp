#include "store/zookeeper/allowance.hpp"

#include "os/net.hpp"

namespace store::zookeeper {

void Allowance::renew(int socket) {
  before_ = os::bytes_received(socket);
}

void Allowance::enforce(int socket) {
  const std::uint64_t received = os::bytes_received(socket);
  if (received < before_) before_ = 0;  // another connection than the one that was asked
  if (received - before_ > most_bytes) os::hang_up(socket);
}

}  // namespace store::zookeeper
