#include "store/etcd/etcd.hpp"

#include "store/etcd/client.hpp"
#include "store/sessions/store.hpp"

namespace store::etcd {
namespace {

sessions::OpenSession opener_of(const Etcd& cluster) {
  return [cluster](Ttl ttl, const CallLimit& limit) -> Result<std::shared_ptr<sessions::Session>> {
    auto opened = Client::open(cluster, ttl, limit);
    if (!opened) return std::move(opened).error();
    return std::shared_ptr<sessions::Session>{*std::move(opened)};
  };
}

}  // namespace

std::unique_ptr<LockStore> open_store(const Etcd& cluster) {
  return sessions::open_store(opener_of(cluster));
}

std::unique_ptr<LockAdmin> open_admin(const Etcd& cluster) {
  return sessions::open_admin(opener_of(cluster));
}

}  // namespace store::etcd
