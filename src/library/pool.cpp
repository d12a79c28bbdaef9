#include "library/pool.hpp"

#include <utility>
#include <variant>

#include "library/keeper.hpp"

namespace library {

std::unique_ptr<store::LockStore> StorePool::take() {
  {
    const std::lock_guard guard{mutex_};
    if (!idle_.empty()) {
      auto last = std::move(idle_.back());
      idle_.pop_back();
      return last;
    }
  }
  return store::open(spec_);
}

void StorePool::put_back(std::unique_ptr<store::LockStore>& store) {
  if (!store->start_over()) return;
  const std::lock_guard guard{mutex_};
  if (idle_.size() < most) {
    idle_.push_back(std::move(store));
  } else {
    store.reset();
  }
}

std::shared_ptr<store::ListenerGroup> StorePool::listeners(store::LockStore& store) {
  if (!keeper_.is_this_thread()) return nullptr;
  const std::lock_guard guard{mutex_};
  if (!listeners_) listeners_ = store.listener_group();
  return listeners_;
}

namespace {

using store::CallLimit;
using store::Claim;
using store::LockName;
using store::Token;

class PooledStore final : public store::LockStore {
 private:
  LockStore& connection() {
    if (!own_) own_ = pool_.take();
    return *own_;
  }
  template <class Ask>
  auto once(const Ask& ask) {
    auto answer = ask(connection());
    pool_.put_back(own_);
    return answer;
  }

 public:
  explicit PooledStore(StorePool& pool) : pool_{pool} {}
  PooledStore(const PooledStore&) = delete;
  PooledStore& operator=(const PooledStore&) = delete;
  ~PooledStore() override {
    if (own_) pool_.put_back(own_);
  }

  store::Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    auto attempt = connection().try_acquire(claim, limit);
    if (std::holds_alternative<store::Granted>(attempt)) pool_.put_back(own_);
    return attempt;
  }
  store::Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    return connection().await_turn(claim, limit);
  }
  [[nodiscard]] bool may_ask_while_waiting() const override {
    return own_ == nullptr || own_->may_ask_while_waiting();
  }
  void withdraw(const Claim& claim, const CallLimit& limit) override {
    connection().withdraw(claim, limit);
  }
  store::Renewal renew(const LockName& name, const Token& token, store::Ttl ttl,
                       const CallLimit& limit) override {
    return once([&](LockStore& store) { return store.renew(name, token, ttl, limit); });
  }
  store::Release release(const LockName& name, const Token& token, const store::Parting& parting,
                         const CallLimit& limit) override {
    return once([&](LockStore& store) { return store.release(name, token, parting, limit); });
  }
  store::Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    return once([&](LockStore& store) { return store.check(name, token, limit); });
  }
  std::unique_ptr<store::Listener> listener(const LockName& name, const Token& token) override {
    return once([&](LockStore& store) {
      const auto group = pool_.listeners(store);
      return group ? group->listener(name, token) : store.listener(name, token);
    });
  }
  void confirm_stopped(const LockName& name, const store::Notice& notice,
                       const CallLimit& limit) override {
    connection().confirm_stopped(name, notice, limit);
    pool_.put_back(own_);
  }

 private:
  StorePool& pool_;
  std::unique_ptr<LockStore> own_{};
};

}  // namespace

std::unique_ptr<store::LockStore> open_pooled(StorePool& pool) {
  return std::make_unique<PooledStore>(pool);
}

}  // namespace library
