// The answer of a majority of servers is the quorum's.
#include <doctest/doctest.h>

#include "fake_quorum.hpp"

namespace unit::quorum_store {

using namespace store;
using namespace fake_quorum;

TEST_CASE("a quorum grants where a majority is up, with the highest fence on all of it") {
  for (std::size_t down = 0; down <= 5; ++down) {
    Fleet fleet{5};
    for (std::size_t i = 0; i < 5; ++i) fleet.servers[i].clock = 100 + 10 * i;
    for (std::size_t i = 0; i < down; ++i) fleet.servers[i].state = Server::State::refusing;
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
  other.servers[1].state = Server::State::refusing;
  const auto part = leased(other.open()->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(part);
  CHECK(since(part->asked_at) >= ttl.length() / 3 - Millis{1'000});
  CHECK(part->valid_until > Deadline::after(base::now(), Millis{8'000}));
}

TEST_CASE("servers whose clocks agree with ours give one number, and are told of no other") {
  Fleet fleet{3};
  for (auto& server : fleet.servers) server.agrees = true;
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  for (auto& server : fleet.servers) {
    CHECK(server.fence == lease->fence);
    CHECK(server.asked["raise"] == 0);
  }
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
  REQUIRE(busy->holder);
  CHECK(busy->holder->token == first.token.text());

  Claim waiting = second;
  waiting.on_busy = OnBusy::queue;
  CHECK(std::holds_alternative<Queued>(store->try_acquire(waiting, within(2'000))));
  for (const auto& server : fleet.servers) CHECK(server.owner == first.token);
}

TEST_CASE("a waiter in no queue asks again after a while, unless its limit ends before") {
  Fleet fleet{3};
  for (auto& server : fleet.servers) server.owner = claim_of("other").token;
  const auto store = fleet.open();
  const auto claim = claim_of("one", OnBusy::queue);
  const auto began = base::now();
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim, within(2'000))));
  CHECK(std::holds_alternative<StillWaiting>(store->await_turn(claim, within(10))));
  CHECK(std::holds_alternative<ClaimAgain>(store->await_turn(claim, within(5'000))));
  CHECK(since(began) >= Millis{199});
}

TEST_CASE("a silent server does not keep those who have some of the others from giving back") {
  for (const auto on_busy : {OnBusy::queue, OnBusy::give_up}) {
    Fleet fleet{3};
    fleet.servers[0].state = Server::State::silent;
    fleet.servers[1].owner = claim_of("other").token;
    const auto store = fleet.open();
    const auto began = base::now();
    CHECK_FALSE(leased(store->try_acquire(claim_of("one", on_busy), within(10'000))));
    CHECK(since(began) < Millis{5'000});
    const auto waiting = base::now();
    for (int turns = 0; turns < 3 && fleet.servers[2].owner; ++turns) {
      (void)store->await_turn(claim_of("one", OnBusy::queue), within(5'000));
    }
    CHECK_FALSE(fleet.servers[2].owner);
    CHECK(since(waiting) < Millis{1'000});
  }
}

TEST_CASE("a server that fell silent while one waited costs the grant a moment only") {
  Fleet fleet{3};
  fleet.servers[1].owner = fleet.servers[2].owner = claim_of("other").token;
  const auto store = fleet.open();
  const auto claim = claim_of("one", OnBusy::queue);
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim, within(2'000))));
  fleet.servers[0].state = Server::State::silent;
  fleet.servers[1].owner.reset();
  fleet.servers[2].owner.reset();
  const auto began = base::now();
  CHECK(leased(store->try_acquire(claim, within(5'000))));
  CHECK(since(began) < Millis{300});  // one that answers every question has 500 ms
}

TEST_CASE("a release is one where fewer than a majority may have the lock still") {
  Fleet fleet{3};
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  fleet.servers[0].owner = claim_of("other").token;
  fleet.servers[1].state = Server::State::silent;
  const auto began = base::now();
  CHECK(std::holds_alternative<Released>(
      store->release(lease->name, lease->token, {}, within(5'000))));
  CHECK(since(began) < Millis{2'000});
  fleet.servers[2].owner = claim_of("other").token;
  CHECK(std::holds_alternative<NotOurs>(
      store->release(lease->name, claim_of("another").token, {}, within(1'000))));
}

TEST_CASE("a grant of a minority is kept for a moment, then given back") {
  Fleet fleet{3};
  fleet.servers[0].owner = fleet.servers[1].owner = claim_of("other").token;
  const auto store = fleet.open();
  const auto claim = claim_of("one", OnBusy::queue);
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim, within(2'000))));
  CHECK(fleet.servers[2].owner == claim.token);
  // The release of the others comes: the same token has them all.
  fleet.servers[0].owner.reset();
  fleet.servers[1].owner.reset();
  const auto lease = leased(store->try_acquire(claim, within(2'000)));
  REQUIRE(lease);
  CHECK(lease->token == claim.token);
  for (const auto& server : fleet.servers) CHECK(server.owner == claim.token);

  fleet.servers[0].owner = fleet.servers[1].owner = claim_of("other").token;
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim, within(2'000))));
  for (int turns = 0; turns < 3 && fleet.servers[2].owner; ++turns) {
    (void)store->await_turn(claim, within(5'000));
  }
  CHECK_FALSE(fleet.servers[2].owner);
}

TEST_CASE("a waiter has another token where a giving back was perhaps not heard") {
  Fleet fleet{3};
  const auto other = claim_of("other");
  fleet.servers[0].owner = fleet.servers[1].owner = other.token;
  const auto store = fleet.open();
  const auto claim = claim_of("one", OnBusy::queue);
  CHECK(std::holds_alternative<Queued>(store->try_acquire(claim, within(2'000))));
  CHECK(fleet.servers[2].owner == claim.token);
  fleet.servers[2].state = Server::State::silent;
  const int before = fleet.servers[2].asked["release"];
  for (int turns = 0; turns < 3 && fleet.servers[2].asked["release"] == before; ++turns) {
    (void)store->await_turn(claim, within(5'000));
  }
  fleet.servers[2].state = Server::State::up;
  fleet.servers[0].owner.reset();
  fleet.servers[1].owner.reset();
  const auto lease = leased(store->try_acquire(claim, within(2'000)));
  REQUIRE(lease);
  CHECK(lease->token != claim.token);
  CHECK(lease->token.same_claim(claim.token));
}

TEST_CASE("each try has another token, unless the token also names other locks") {
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
  fleet.servers[2].state = Server::State::silent;
  const auto store = fleet.open();
  auto claim = claim_of("one");
  claim.token_stays = true;
  CHECK(std::holds_alternative<Busy>(store->try_acquire(claim, within(2'000))));
  const int before = fleet.servers[2].asked["acquire"];
  fleet.servers[2].state = Server::State::up;
  CHECK(std::holds_alternative<Busy>(store->try_acquire(claim, within(2'000))));
  CHECK(fleet.servers[2].asked["acquire"] == before);

  // Two of three: a majority can no longer be asked.
  fleet.servers[0].state = Server::State::silent;
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

  for (std::size_t i = 2; i < 5; ++i) fleet.servers[i].state = Server::State::refusing;
  const auto neither = store->renew(key, lease->token, ttl, within(2'000));
  REQUIRE(std::holds_alternative<Fault>(neither));
  CHECK(std::get<Fault>(neither).why == "3 of 5 servers: refused");
}

TEST_CASE("a reader's next try ends an earlier one that a server may still carry out") {
  for (const auto kind : {Mode::Kind::exclusive, Mode::Kind::shared}) {
    Fleet fleet{3};
    fleet.servers[0].owner = claim_of("a").token;
    fleet.servers[1].owner = claim_of("b").token;
    fleet.servers[2].state = Server::State::silent;
    Claim claim = claim_of("one");
    claim.mode.kind = kind;
    CHECK(std::holds_alternative<Busy>(fleet.open()->try_acquire(claim, within(2'000))));
    // Nothing was granted there; a writer would meet its earlier try as the holder.
    CHECK((fleet.servers[0].asked["release"] > 0) == (kind == Mode::Kind::shared));
  }
}

TEST_CASE("a reader's lock is healed as a reader's, by a later step too") {
  Fleet fleet{3};
  const auto store = fleet.open();
  Claim claim = claim_of("one");
  claim.mode.kind = Mode::Kind::shared;
  const auto lease = leased(store->try_acquire(claim, within(2'000)));
  REQUIRE(lease);
  const auto later = fleet.open();
  for (LockStore* step : {store.get(), later.get()}) {
    fleet.servers[2].forget();
    fleet.servers[2].mode = {};
    CHECK(std::holds_alternative<Renewed>(step->renew(key, lease->token, ttl, within(2'000))));
    CHECK(fleet.servers[2].owner == lease->token);
    CHECK(fleet.servers[2].mode == claim.mode);
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
  fleet.servers[0].state = fleet.servers[1].state = Server::State::denying;
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
  fleet.servers[0].state = fleet.servers[1].state = Server::State::refusing;
  CHECK(std::holds_alternative<Fault>(store->check(key, lease->token, within(2'000))));
}

}  // namespace unit::quorum_store
