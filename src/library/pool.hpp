// The connections of a server's locks: where the protocol allows it, fewer than there are locks.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "store/backend.hpp"

namespace library {

class Keeper;

/// Any thread.
class StorePool {
 public:
  /// `keeper` uses the listeners.
  StorePool(store::ServerSpec spec, const Keeper& keeper)
      : spec_{std::move(spec)}, keeper_{keeper} {}

  /// The one that was used last, or a new one.
  std::unique_ptr<store::LockStore> take();
  /// Keeps it if another lock may use it; otherwise it stays where it is.
  void put_back(std::unique_ptr<store::LockStore>& store);
  /// The connection for the notices of all locks; `store` says whether there can be one.
  /// None for another thread than the keeper's.
  std::shared_ptr<store::ListenerGroup> listeners(store::LockStore& store);

 private:
  static constexpr std::size_t most = 8;

  store::ServerSpec spec_;
  const Keeper& keeper_;
  std::mutex mutex_{};  // guards the following
  std::vector<std::unique_ptr<store::LockStore>> idle_{};
  std::shared_ptr<store::ListenerGroup> listeners_{};
};

/// A store for one lock, which has a connection only while it asks: from the first claim to the
/// grant, and for each call after that. One that belongs to its lock is kept. `pool` outlives it.
std::unique_ptr<store::LockStore> open_pooled(StorePool& pool);

}  // namespace library
