// A quorum of servers that are made of memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "os/poll.hpp"
#include "store/quorum/admin.hpp"
#include "store/quorum/store.hpp"

namespace unit::quorum_store {

namespace {

using namespace store;

/// What one server remembers of one lock.
struct FakeServer {
  enum class State { up, silent, refusing, denying } state = State::up;
  Millis delay{0};  // before it answers
  Fence clock = 100;
  std::mutex mutex{};
  std::optional<Token> owner{};
  std::optional<Token> granted_to{};  // with the fence
  Fence fence = 0;
  std::map<std::string, int> asked{};

  void forget() {
    owner.reset();
    granted_to.reset();
    fence = 0;
  }
};

/// A connection to it. Two may lead to the same server.
class FakeNode final : public LockStore {
 public:
  explicit FakeNode(FakeServer& server) : server_{server} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    return answer<Attempt>("acquire", limit, [&]() -> Attempt {
      const auto asked_at = base::now();
      if (server_.owner && *server_.owner != claim.token) {
        return Busy{Holder{Holder::Kind::holder, server_.owner->text(), std::nullopt, std::nullopt},
                    0};
      }
      if (!server_.owner || server_.granted_to != claim.token) {
        server_.fence = std::max(server_.fence + 1, server_.clock);
      }
      server_.owner = server_.granted_to = claim.token;
      return Granted{{claim.name, claim.token, claim.ttl, validity(asked_at, claim.ttl),
                      server_.fence, asked_at}};
    });
  }
  Turn await_turn(const Claim& /*claim*/, const CallLimit& /*limit*/) override {
    return ClaimAgain{};
  }
  void withdraw(const Claim& claim, const CallLimit& limit) override {
    (void)release(claim.name, claim.token, {}, limit);
  }
  Renewal renew(const LockName& /*name*/, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    return answer<Renewal>("renew", limit, [&]() -> Renewal {
      if (server_.owner != token) return NotOurs{"another's"};
      return Renewed{validity(base::now(), ttl), base::now()};
    });
  }
  Renewal raise_fence(const Lease& lease, const CallLimit& limit) override {
    return answer<Renewal>("raise", limit, [&]() -> Renewal {
      if (server_.owner != lease.token || server_.fence > lease.fence) return NotOurs{"later one"};
      server_.fence = lease.fence;
      return Renewed{lease.valid_until, base::now()};
    });
  }
  Release release(const LockName& /*name*/, const Token& token, Millis /*min_hold*/,
                  const CallLimit& limit) override {
    return answer<Release>("release", limit, [&]() -> Release {
      if (server_.owner != token) return NotOurs{"another's"};
      server_.owner.reset();
      return Released{};
    });
  }
  Standing check(const LockName& /*name*/, const Token& token, const CallLimit& limit) override {
    return answer<Standing>("check", limit, [&]() -> Standing {
      if (!server_.owner) return Elsewhere{};
      if (*server_.owner != token) {
        return Elsewhere{
            Holder{Holder::Kind::holder, server_.owner->text(), std::nullopt, std::nullopt}};
      }
      return StillOurs{Deadline::after(base::now(), Millis{1'000}), server_.fence};
    });
  }
  std::unique_ptr<Listener> listener(const LockName& /*name*/, const Token& /*token*/) override {
    return nullptr;
  }
  void confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                       const CallLimit& /*limit*/) override {
    const std::lock_guard guard{server_.mutex};
    ++server_.asked["confirm"];
  }

 private:
  template <class Answer, class Do>
  Answer answer(const char* question, const CallLimit& limit, const Do& act) {
    const auto arrives = Deadline::after(base::now(), server_.delay);
    os::wait_any({limit.interrupt}, std::min(limit.until, arrives));
    {
      const std::lock_guard guard{server_.mutex};
      ++server_.asked[question];
      switch (server_.state) {
        case FakeServer::State::refusing: return Fault{Fault::Kind::unreachable, "refused"};
        case FakeServer::State::denying: return Fault{Fault::Kind::denied, "no permission"};
        case FakeServer::State::up:
          if (arrives.passed(base::now())) return act();
          break;
        case FakeServer::State::silent: break;
      }
    }
    os::wait_any({limit.interrupt}, limit.until);
    return Fault{Fault::Kind::silent, "no answer in time"};
  }

  FakeServer& server_;
};

/// As many servers as the state of each says, and a quorum of them.
class Fleet {
 public:
  explicit Fleet(std::size_t size) : servers(size) {}

  std::unique_ptr<LockStore> open() {
    std::vector<std::unique_ptr<LockStore>> nodes;
    for (auto& server : servers) nodes.push_back(std::make_unique<FakeNode>(server));
    return quorum::open_store(std::move(nodes));
  }

  std::vector<FakeServer> servers;
};

const LockName key = *LockName::from("key");
const Ttl ttl = *Ttl::from(Millis{10'000});

Claim claim_of(const char* label, OnBusy on_busy = OnBusy::give_up) {
  return {key, Token::mint(*Label::from(label)), ttl, on_busy};
}

CallLimit within(int ms) {
  return {Deadline::after(base::now(), Millis{ms})};
}

Millis since(Moment began) {
  return std::chrono::duration_cast<Millis>(base::now() - began);
}

std::optional<Lease> leased(Attempt attempt) {
  auto* granted = std::get_if<Granted>(&attempt);
  if (granted == nullptr) return std::nullopt;
  return granted->lease;
}

}  // namespace

TEST_CASE("a quorum grants where a majority is up, with the highest fence on all of it") {
  for (std::size_t down = 0; down <= 5; ++down) {
    Fleet fleet{5};
    for (std::size_t i = 0; i < 5; ++i) fleet.servers[i].clock = 100 + 10 * i;
    for (std::size_t i = 0; i < down; ++i) fleet.servers[i].state = FakeServer::State::refusing;
    const auto store = fleet.open();
    const auto claim = claim_of("one");
    auto attempt = store->try_acquire(claim, within(2'000));
    if (down > 2) {
      const auto* fault = std::get_if<Fault>(&attempt);
      REQUIRE(fault != nullptr);
      CHECK(fault->kind == Fault::Kind::unreachable);
      for (const auto& server : fleet.servers) CHECK_FALSE(server.owner);  // given back
      continue;
    }
    const auto lease = leased(attempt);
    REQUIRE(lease);
    // The highest of the majority that answered first, and on every node that is not ahead of it.
    std::size_t confirmed = 0;
    for (std::size_t i = down; i < 5; ++i) {
      CHECK(fleet.servers[i].owner == claim.token);
      CHECK(fleet.servers[i].fence >= lease->fence);
      if (fleet.servers[i].fence == lease->fence) ++confirmed;
    }
    CHECK(confirmed >= 3);
  }
}

TEST_CASE("a lease that not all servers have is refreshed soon") {
  Fleet fleet{3};
  const auto whole = leased(fleet.open()->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(whole);
  CHECK(since(whole->asked_at) < Millis{2'000});

  Fleet other{3};
  other.servers[1].state = FakeServer::State::refusing;
  const auto part = leased(other.open()->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(part);
  CHECK(since(part->asked_at) >= ttl.length() / 3 - Millis{1'000});
  CHECK(part->valid_until > Deadline::after(base::now(), Millis{8'000}));
}

TEST_CASE("a second client is told who has the lock, and leaves nothing behind") {
  Fleet fleet{3};
  const auto first = claim_of("one");
  const auto second = claim_of("two");
  REQUIRE(leased(fleet.open()->try_acquire(first, within(2'000))));
  const auto store = fleet.open();
  auto attempt = store->try_acquire(second, within(2'000));
  const auto* busy = std::get_if<Busy>(&attempt);
  REQUIRE(busy != nullptr);
  REQUIRE(busy->occupant);
  CHECK(busy->occupant->token == first.token.text());

  Claim waiting = second;
  waiting.on_busy = OnBusy::queue;
  CHECK(std::holds_alternative<Queued>(store->try_acquire(waiting, within(2'000))));
  for (const auto& server : fleet.servers) CHECK(server.owner == first.token);
}

TEST_CASE("a waiter asks again after a while, unless its limit ends before") {
  Fleet fleet{3};
  const auto store = fleet.open();
  CHECK(std::holds_alternative<StillWaiting>(store->await_turn(claim_of("one"), within(10))));
  const auto began = base::now();
  CHECK(std::holds_alternative<ClaimAgain>(store->await_turn(claim_of("one"), within(5'000))));
  CHECK(since(began) >= Millis{49});
}

TEST_CASE("each try has another token, unless the token names other locks, too") {
  Fleet fleet{3};
  const auto store = fleet.open();
  auto claim = claim_of("one");
  const auto first = leased(store->try_acquire(claim, within(2'000)));
  const auto second = leased(store->try_acquire(claim, within(2'000)));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->token != second->token);
  CHECK(first->token.same_claim(second->token));
  store->withdraw(claim, within(2'000));
  for (const auto& server : fleet.servers) CHECK_FALSE(server.owner);

  claim.token_stays = true;
  CHECK(leased(store->try_acquire(claim, within(2'000)))->token == claim.token);
}

TEST_CASE("a token that stays does not go where a taking back was not heard") {
  Fleet fleet{3};
  auto other = claim_of("other");
  fleet.servers[0].owner = fleet.servers[1].owner = other.token;
  fleet.servers[2].state = FakeServer::State::silent;
  const auto store = fleet.open();
  auto claim = claim_of("one");
  claim.token_stays = true;
  CHECK(std::holds_alternative<Busy>(store->try_acquire(claim, within(2'000))));
  const int before = fleet.servers[2].asked["acquire"];
  fleet.servers[2].state = FakeServer::State::up;
  CHECK(std::holds_alternative<Busy>(store->try_acquire(claim, within(2'000))));
  CHECK(fleet.servers[2].asked["acquire"] == before);

  // Two of three: a majority cannot be asked any more.
  fleet.servers[0].state = FakeServer::State::silent;
  (void)store->try_acquire(claim, within(300));
  CHECK(std::holds_alternative<TokenExhausted>(store->try_acquire(claim, within(300))));
}

TEST_CASE("a refresh counts the servers that still have the lock, and heals the others") {
  Fleet fleet{5};
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  fleet.servers[0].forget();
  fleet.servers[1].forget();
  CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
  for (const auto& server : fleet.servers) CHECK(server.owner == lease->token);

  for (std::size_t i = 0; i < 3; ++i) fleet.servers[i].forget();
  CHECK(std::holds_alternative<NotOurs>(store->renew(key, lease->token, ttl, within(2'000))));
  for (std::size_t i = 0; i < 3; ++i) CHECK_FALSE(fleet.servers[i].owner);

  for (std::size_t i = 2; i < 5; ++i) fleet.servers[i].state = FakeServer::State::refusing;
  const auto neither = store->renew(key, lease->token, ttl, within(2'000));
  REQUIRE(std::holds_alternative<Fault>(neither));
  CHECK(std::get<Fault>(neither).why == "3 of 5 servers: refused");
}

TEST_CASE("a silent server costs a run little, whichever it is and however many there are") {
  for (const std::size_t size : {3u, 5u}) {
    for (std::size_t silent = 0; silent < size; ++silent) {
      Fleet fleet{size};
      fleet.servers[silent].state = FakeServer::State::silent;
      const auto store = fleet.open();
      const auto began = base::now();
      const auto lease = leased(store->try_acquire(claim_of("one"), within(5'000)));
      REQUIRE(lease);
      CHECK(std::holds_alternative<Released>(store->release(key, lease->token, {}, within(5'000))));
      CHECK(since(began) < Millis{400});  // 150 ms, and what a busy machine adds
    }
  }
}

TEST_CASE("a waiter and a busy lock do not wait for a silent server either") {
  Fleet fleet{5};
  const auto first = claim_of("one");
  for (auto& server : fleet.servers) server.owner = first.token;
  fleet.servers[2].state = FakeServer::State::silent;
  const auto store = fleet.open();
  const auto began = base::now();
  for (int i = 0; i < 3; ++i) {
    CHECK(std::holds_alternative<Queued>(
        store->try_acquire(claim_of("two", OnBusy::queue), within(5'000))));
  }
  CHECK(std::holds_alternative<Busy>(store->try_acquire(claim_of("two"), within(5'000))));
  CHECK(since(began) < Millis{1'000});  // four tries of 100 ms; 2 s and more otherwise
}

TEST_CASE("a server that answered before is waited for, and one that falls silent only once") {
  Fleet fleet{3};
  const auto store = fleet.open();
  auto lease = leased(store->try_acquire(claim_of("one"), within(5'000)));
  REQUIRE(lease);
  fleet.servers[2].delay = Millis{100};
  CHECK(std::holds_alternative<Released>(store->release(key, lease->token, {}, within(5'000))));
  CHECK_FALSE(fleet.servers[2].owner);

  lease = leased(store->try_acquire(claim_of("one"), within(5'000)));
  REQUIRE(lease);
  fleet.servers[2].state = FakeServer::State::silent;
  auto began = base::now();
  CHECK(std::holds_alternative<StillOurs>(store->check(key, lease->token, within(5'000))));
  CHECK(since(began) >= Millis{490});
  began = base::now();
  CHECK(std::holds_alternative<StillOurs>(store->check(key, lease->token, within(5'000))));
  CHECK(since(began) < Millis{200});
}

TEST_CASE("a server that is healed has the fence of the grant, not a lower one") {
  Fleet fleet{3};
  fleet.servers[0].clock = 9'000;  // ahead of the others
  fleet.servers[0].delay = fleet.servers[1].delay = Millis{0};
  fleet.servers[2].state = FakeServer::State::refusing;
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  CHECK(lease->fence == 9'000);
  fleet.servers[2].state = FakeServer::State::up;
  fleet.servers[0].clock = 100;
  for (const std::size_t wiped : {2u, 0u, 1u}) {
    fleet.servers[wiped].forget();
    CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
    CHECK(fleet.servers[wiped].owner == lease->token);
    CHECK(fleet.servers[wiped].fence == 9'000);
  }
  // Another process refreshes: it asks the servers which fence that is.
  fleet.servers[1].forget();
  const auto other = fleet.open();
  CHECK(std::holds_alternative<Renewed>(other->renew(key, lease->token, ttl, within(2'000))));
  CHECK(fleet.servers[1].fence == 9'000);

  CHECK(std::holds_alternative<Released>(store->release(key, lease->token, {}, within(2'000))));
  const auto next = leased(fleet.open()->try_acquire(claim_of("two"), within(2'000)));
  REQUIRE(next);
  CHECK(next->fence > lease->fence);
}

TEST_CASE(
    "a server that granted too late to be heard takes the fence over with the first refresh") {
  Fleet fleet{3};
  fleet.servers[0].clock = fleet.servers[1].clock = 500;
  fleet.servers[2].state = FakeServer::State::silent;
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  // It has taken the claim meanwhile, with a lower number.
  fleet.servers[2].state = FakeServer::State::up;
  fleet.servers[2].owner = fleet.servers[2].granted_to = lease->token;
  fleet.servers[2].fence = 400;
  CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
  CHECK(fleet.servers[2].fence == lease->fence);
}

TEST_CASE("a server that is named twice does not count twice") {
  for (const auto& [first, second] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}}) {
    Fleet fleet{3};
    std::vector<std::unique_ptr<LockStore>> nodes;
    for (unsigned i = 0; i < 3; ++i) {
      nodes.push_back(std::make_unique<FakeNode>(fleet.servers[i == second ? first : i]));
    }
    // So that it takes both names for a majority.
    fleet.servers[3 - first - second].state = FakeServer::State::refusing;
    const auto store = quorum::open_store(std::move(nodes));
    const auto attempt = store->try_acquire(claim_of("one"), within(2'000));
    const auto* fault = std::get_if<Fault>(&attempt);
    REQUIRE(fault != nullptr);
    CHECK(fault->kind == Fault::Kind::misconfigured);
    CHECK(fault->why.find(std::to_string(first + 1) + " and " + std::to_string(second + 1)) !=
          std::string::npos);
    for (const auto& server : fleet.servers) CHECK_FALSE(server.owner);
  }
}

TEST_CASE("two servers that give the same number are two servers, and are asked that once") {
  Fleet fleet{3};
  for (auto& server : fleet.servers) server.fence = 700;
  const auto store = fleet.open();
  auto claim = claim_of("one");
  claim.token_stays = true;
  const auto lease = leased(store->try_acquire(claim, within(2'000)));
  REQUIRE(lease);
  CHECK(lease->fence > 700);
  for (const auto& server : fleet.servers) {
    CHECK(server.owner == lease->token);
    CHECK(server.fence == lease->fence);
  }
}

TEST_CASE("a release is one where a majority says so") {
  Fleet fleet{3};
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  fleet.servers[0].forget();
  CHECK(std::holds_alternative<Released>(store->release(key, lease->token, {}, within(2'000))));
  CHECK(std::holds_alternative<NotOurs>(store->release(key, lease->token, {}, within(2'000))));
  fleet.servers[0].state = fleet.servers[1].state = FakeServer::State::denying;
  const auto neither = store->release(key, lease->token, {}, within(2'000));
  REQUIRE(std::holds_alternative<Fault>(neither));
  CHECK(std::get<Fault>(neither).kind == Fault::Kind::denied);
}

TEST_CASE("a check asks what a majority says") {
  Fleet fleet{3};
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  auto standing = store->check(key, lease->token, within(2'000));
  REQUIRE(std::holds_alternative<StillOurs>(standing));
  CHECK(std::get<StillOurs>(standing).fence == lease->fence);
  CHECK(std::holds_alternative<Elsewhere>(store->check(key, claim_of("two").token, within(2'000))));
  fleet.servers[0].state = fleet.servers[1].state = FakeServer::State::refusing;
  CHECK(std::holds_alternative<Fault>(store->check(key, lease->token, within(2'000))));
}

TEST_CASE("an examination finds servers that are the same one") {
  Fleet fleet{3};
  std::vector<std::unique_ptr<LockStore>> nodes;
  for (const std::size_t i : {0u, 1u, 0u}) {
    nodes.push_back(std::make_unique<FakeNode>(fleet.servers[i]));
  }
  const auto fit = [](std::size_t, const CallLimit&) {
    return Findings{{Finding::Verdict::ok, "eviction", "", ""}};
  };
  auto findings = quorum::examine(std::move(nodes), fit, key, within(2'000));
  const auto about = [&](const char* subject) {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& each) { return each.subject == subject; });
    REQUIRE(found != findings.end());
    return *found;
  };
  CHECK(about("majority").verdict == Finding::Verdict::ok);
  CHECK(about("distinct").verdict == Finding::Verdict::fail);
  CHECK(about("distinct").seen == "1 and 3 are the same server");
  CHECK(about("3 eviction").verdict == Finding::Verdict::ok);
  CHECK_FALSE(fleet.servers[0].owner);
}

TEST_CASE("an examination measures how far the clocks are apart, and counts the unfit") {
  Fleet fleet{3};
  fleet.servers[2].clock = 700'000;
  const auto examine = [&](const std::vector<Finding::Verdict>& verdicts) {
    std::vector<std::unique_ptr<LockStore>> nodes;
    for (auto& server : fleet.servers) nodes.push_back(std::make_unique<FakeNode>(server));
    const auto each = [&](std::size_t node, const CallLimit&) {
      return Findings{{verdicts[node], "eviction", "", ""}};
    };
    return quorum::examine(std::move(nodes), each, key, within(2'000));
  };
  using Verdict = Finding::Verdict;
  auto findings = examine({Verdict::ok, Verdict::fail, Verdict::ok});
  REQUIRE(findings.size() == 6);
  CHECK(findings[0].verdict == Verdict::warn);
  CHECK(findings[0].seen == "2 of 3 servers are fit");
  CHECK(findings[1].verdict == Verdict::ok);
  CHECK(findings[2].verdict == Verdict::warn);
  CHECK(findings[2].seen == "the servers agree within 700 ms");
  CHECK(findings[4].verdict == Verdict::warn);  // one may fail

  findings = examine({Verdict::fail, Verdict::fail, Verdict::ok});
  CHECK(findings[0].verdict == Verdict::fail);

  // A lock that is held is not disturbed, and says nothing about the servers.
  const auto holder = claim_of("holder");
  for (auto& server : fleet.servers) server.owner = holder.token;
  findings = examine({Verdict::ok, Verdict::ok, Verdict::ok});
  CHECK(findings[1].verdict == Verdict::unknown);
  CHECK(findings[2].verdict == Verdict::unknown);
  for (const auto& server : fleet.servers) CHECK(server.owner == holder.token);
}

}  // namespace unit::quorum_store
