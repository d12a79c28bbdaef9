#include "store/zookeeper/zookeeper.hpp"

#include "store/sessions/store.hpp"
#include "store/zookeeper/client.hpp"

namespace store::zookeeper {
namespace {

sessions::OpenSession opener_of(const ZooKeeper& ensemble) {
  return [ensemble](Ttl ttl, const CallLimit& limit) -> Result<std::shared_ptr<sessions::Session>> {
    auto opened = Client::open(ensemble, session_for(ttl), limit);
    if (!opened) return std::move(opened).error();
    return std::shared_ptr<sessions::Session>{*std::move(opened)};
  };
}

}  // namespace

const char* unavailable() {
  return nullptr;
}

std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble) {
  return sessions::open_store(opener_of(ensemble));
}

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& ensemble) {
  return sessions::open_admin(opener_of(ensemble));
}

}  // namespace store::zookeeper
