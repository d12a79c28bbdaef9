// In place of the rest of this room where the client library is not there.
#include "store/zookeeper/zookeeper_admin.hpp"
#include "store/zookeeper/zookeeper_store.hpp"

namespace store::zookeeper {
namespace {

const Fault missing{Fault::Kind::unusable, "this rlock was built without ZooKeeper"};

class NoStore final : public LockStore {
 public:
  Attempt try_acquire(const Claim&, const Patience&) override { return missing; }
  Turn await_turn(const Claim&, const Patience&) override { return ClaimAgain{}; }
  void withdraw(const Claim&, const Patience&) override {}
  Renewal renew(const LockName&, const Token&, Ttl, const Patience&) override { return missing; }
  Release release(const LockName&, const Token&, Millis, const Patience&) override {
    return missing;
  }
  Standing check(const LockName&, const Token&, const Patience&) override { return missing; }
  std::unique_ptr<Listener> listener(const LockName&, const Token&) override { return nullptr; }
  void confirm_stopped(const LockName&, const Notice&, const Patience&) override {}
};

class NoAdmin final : public LockAdmin {
 public:
  std::variant<LockReport, Fault> inspect(const LockName&, const Patience&) override {
    return missing;
  }
  std::variant<std::vector<LockReport>, Fault> list(const std::string&, const Patience&) override {
    return missing;
  }
  Removal force_release(const LockName&, const std::vector<Token>&, const std::string&,
                        const Patience&) override {
    return missing;
  }
  Asked ask_to_stop(const LockName&, const std::vector<Token>&, const std::string&,
                    const Patience&) override {
    return missing;
  }
  LastWord await_last_word(const LockName&, const Patience&) override { return LastWord::silence; }
};

}  // namespace

std::unique_ptr<LockStore> open_store(const ZooKeeper&) {
  return std::make_unique<NoStore>();
}

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper&) {
  return std::make_unique<NoAdmin>();
}

Findings examine(const ZooKeeper&, const LockName&, const Patience&) {
  return {{Finding::Verdict::fail, "built", missing.why, "build it with libzookeeper-st-dev"}};
}

}  // namespace store::zookeeper
