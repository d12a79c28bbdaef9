// The gate: of one host's waiters, one has a place at the server.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store/doctor.hpp"
#include "store/gate/gated_store.hpp"

namespace unit::store_gate {

using namespace store;

namespace {

const LockName name = *LockName::from("k");
const Token ours = Token::foreign("me");
const CallLimit limit{Deadline::never()};

Attempt granted() {
  return Granted{{name, ours, *Ttl::from(Millis{1000}), Deadline::never(), 7, {}}};
}
Attempt queued(std::size_t ahead) {
  return Queued{Holder{Holder::Kind::holder, "other", {}, {}}, ahead, {}};
}

/// Answers what it was told to, and writes down what it was asked.
class FakeStore final : public LockStore {
 public:
  FakeStore(std::string who, std::vector<std::string>& log) : who_{std::move(who)}, log_{log} {}

  Attempt next = granted();
  Renewal renewal = Renewed{Deadline::never(), {}};
  Release released = Released{};

  Attempt try_acquire(const Claim& claim, const CallLimit& /*limit*/) override {
    said(claim.on_busy == OnBusy::queue ? "queue" : "try");
    return next;
  }
  Turn await_turn(const Claim& /*claim*/, const CallLimit& /*limit*/) override {
    said("await");
    return ClaimAgain{};
  }
  void withdraw(const Claim& /*claim*/, const CallLimit& /*limit*/) override { said("withdraw"); }
  Renewal renew(const LockName& /*name*/, const Token& /*token*/, Ttl /*ttl*/,
                const CallLimit& /*limit*/) override {
    said("renew");
    return renewal;
  }
  Release release(const LockName& /*name*/, const Token& /*token*/, const Parting& /*parting*/,
                  const CallLimit& /*limit*/) override {
    said("release");
    return released;
  }
  Standing check(const LockName& /*name*/, const Token& /*token*/,
                 const CallLimit& /*limit*/) override {
    said("check");
    return Elsewhere{};
  }
  std::unique_ptr<Listener> listener(const LockName& /*name*/, const Token& /*token*/) override {
    said("listener");
    return nullptr;
  }
  void confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                       const CallLimit& /*limit*/) override {
    said("confirm");
  }

 private:
  void said(const std::string& what) { log_.push_back(who_ + " " + what); }
  std::string who_;
  std::vector<std::string>& log_;
};

struct Fixture {
  std::vector<std::string> log;
  FakeStore* gate;
  FakeStore* server;
  std::unique_ptr<LockStore> store;

  Fixture() {
    auto one = std::make_unique<FakeStore>("gate", log);
    auto two = std::make_unique<FakeStore>("server", log);
    gate = one.get();
    server = two.get();
    store = gate::open_store(std::move(one), std::move(two));
  }
  std::vector<std::string> said() { return std::exchange(log, {}); }
};

using Said = std::vector<std::string>;

Claim claim(OnBusy on_busy) {
  return {name, ours, *Ttl::from(Millis{1000}), on_busy};
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a single attempt goes past the gate") {
  CHECK(std::holds_alternative<Granted>(store->try_acquire(claim(OnBusy::give_up), limit)));
  CHECK(said() == Said{"server try"});
  store->withdraw(claim(OnBusy::give_up), limit);
  CHECK(said() == Said{"server withdraw", "gate withdraw"});
}

TEST_CASE_FIXTURE(Fixture, "a waiter passes the gate first and leaves it with the grant") {
  CHECK(std::holds_alternative<Granted>(store->try_acquire(claim(OnBusy::queue), limit)));
  CHECK(said() == Said{"gate queue", "server queue", "gate withdraw"});
}

TEST_CASE_FIXTURE(Fixture, "behind others of this host nothing is asked of the server") {
  gate->next = queued(2);
  const auto attempt = store->try_acquire(claim(OnBusy::queue), limit);
  const auto& place = std::get<Queued>(attempt);
  CHECK(place.ahead == 3);
  CHECK(place.holder->kind == Holder::Kind::neighbour);
  (void)store->await_turn(claim(OnBusy::queue), limit);
  store->withdraw(claim(OnBusy::queue), limit);
  CHECK(said() == Said{"gate queue", "gate await", "gate withdraw"});
}

TEST_CASE_FIXTURE(Fixture,
                  "the one that has passed waits at the server and asks the gate no more") {
  server->next = queued(0);
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim(OnBusy::queue), limit)));
  (void)store->await_turn(claim(OnBusy::queue), limit);
  (void)store->try_acquire(claim(OnBusy::queue), limit);
  store->withdraw(claim(OnBusy::queue), limit);
  CHECK(said() == Said{"gate queue", "server queue", "gate listener", "server await",
                       "server queue", "server withdraw", "gate withdraw"});
  (void)store->try_acquire(claim(OnBusy::queue), limit);
  CHECK(said() == Said{"gate queue", "server queue"});
}

TEST_CASE_FIXTURE(Fixture, "a holder's calls go to the server") {
  (void)store->renew(name, ours, *Ttl::from(Millis{1000}), limit);
  (void)store->release(name, ours, {}, limit);
  (void)store->check(name, ours, limit);
  (void)store->listener(name, ours);
  store->confirm_stopped(name, {}, limit);
  CHECK(said() == Said{"server renew", "server release", "server check", "server listener",
                       "server confirm"});
}

TEST_CASE_FIXTURE(Fixture, "the doctor takes, refreshes and gives back a free lock") {
  const auto advice = [](const Fault&) { return "mend it"; };
  const auto finding = try_locking(*server, name, advice, limit);
  CHECK(finding.verdict == Finding::Verdict::ok);
  CHECK(finding.seen == "taken, refreshed and released");
  CHECK(said() == Said{"server try", "server renew", "server release"});
}

TEST_CASE_FIXTURE(Fixture, "the doctor does not disturb a holder, and says what failed") {
  const auto advice = [](const Fault&) { return "mend it"; };
  server->next = Busy{};
  CHECK(try_locking(*server, name, advice, limit).seen == "somebody holds it: not disturbed");
  CHECK(said() == Said{"server try"});
  server->next = Fault{Fault::Kind::denied, "no"};
  const auto denied = try_locking(*server, name, advice, limit);
  CHECK(denied.verdict == Finding::Verdict::fail);
  CHECK(denied.advice == "mend it");
  server->next = granted();
  server->renewal = Fault{Fault::Kind::unavailable, "not refreshed"};
  (void)said();
  CHECK(try_locking(*server, name, advice, limit).seen == "not refreshed");
  CHECK(said() == Said{"server try", "server renew", "server release"});
  server->renewal = Renewed{Deadline::never(), {}};
  server->released = Fault{Fault::Kind::unavailable, "not released"};
  CHECK(try_locking(*server, name, advice, limit).seen == "not released");
}

}  // namespace unit::store_gate
