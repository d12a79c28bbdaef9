// In place of the client library's part of this room where that library is not there. No URL gets
// past ensemble_in(), so that nothing here is ever called but unavailable().
#include <stdexcept>

#include "store/zookeeper/zookeeper.hpp"

namespace store::zookeeper {

const char* unavailable() {
  return "this rlock was built without ZooKeeper";
}

std::unique_ptr<LockStore> open_store(const ZooKeeper& /*ensemble*/) {
  throw std::logic_error{unavailable()};
}

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& /*ensemble*/) {
  throw std::logic_error{unavailable()};
}

Findings examine(const ZooKeeper& /*ensemble*/, const LockName& /*name*/,
                 const CallLimit& /*limit*/) {
  throw std::logic_error{unavailable()};
}

}  // namespace store::zookeeper
