// A server of a quorum that is silent or was away: what it costs, and which fence it has after.
#include <doctest/doctest.h>

#include "fake_quorum.hpp"

namespace unit::quorum_absent {

using namespace store;
using namespace fake_quorum;

namespace {

/// The shortest of three times, so that a machine that is busy for a moment does not matter.
template <class Act>
Millis quickest(const Act& act) {
  Millis least = Millis::max();
  for (int i = 0; i < 3; ++i) {
    const auto began = base::now();
    act();
    least = std::min(least, since(began));
  }
  return least;
}

}  // namespace

TEST_CASE("a silent server costs a run little, whichever it is and however many there are") {
  for (const std::size_t size : {3u, 5u}) {
    for (std::size_t silent = 0; silent < size; ++silent) {
      const auto took = quickest([&] {
        Fleet fleet{size};
        fleet.servers[silent].state = Server::State::silent;
        const auto store = fleet.open();
        const auto lease = leased(store->try_acquire(claim_of("one"), within(5'000)));
        REQUIRE(lease);
        CHECK(
            std::holds_alternative<Released>(store->release(key, lease->token, {}, within(5'000))));
      });
      CHECK(took < Millis{400});  // 150 ms, and what a busy machine adds
    }
  }
}

TEST_CASE("a waiter and a busy lock do not wait for a silent server either") {
  const auto took = quickest([] {
    Fleet fleet{5};
    const auto first = claim_of("one");
    for (auto& server : fleet.servers) server.owner = first.token;
    fleet.servers[2].state = Server::State::silent;
    const auto store = fleet.open();
    for (int i = 0; i < 3; ++i) {
      CHECK(std::holds_alternative<Queued>(
          store->try_acquire(claim_of("two", OnBusy::queue), within(5'000))));
    }
    CHECK(std::holds_alternative<Busy>(store->try_acquire(claim_of("two"), within(5'000))));
  });
  CHECK(took < Millis{1'000});  // four tries of 100 ms; 2 s and more otherwise
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
  fleet.servers[2].state = Server::State::silent;
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
  fleet.servers[2].state = Server::State::refusing;
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  CHECK(lease->fence == 9'000);
  fleet.servers[2].state = Server::State::up;
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

TEST_CASE("a server that is healed has the fence of the grant, whichever answer of it is lost") {
  for (const char* lost : {"acquire", "raise"}) {
    CAPTURE(lost);
    Fleet fleet{3};
    fleet.servers[0].clock = fleet.servers[2].clock = 9'000;
    const auto store = fleet.open();
    const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
    REQUIRE(lease);
    fleet.servers[1].forget();
    fleet.servers[1].loses = lost;
    CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
    CHECK(fleet.servers[1].owner == lease->token);
    fleet.servers[1].loses.clear();
    fleet.servers[1].fence = 400;  // its own number, in case that the answer alone was lost
    CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
    CHECK(fleet.servers[1].fence == lease->fence);
  }
}

TEST_CASE(
    "a server that granted too late to be heard takes the fence over with the first refresh") {
  Fleet fleet{3};
  fleet.servers[0].clock = fleet.servers[1].clock = 500;
  fleet.servers[2].state = Server::State::silent;
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(claim_of("one"), within(2'000)));
  REQUIRE(lease);
  // It has taken the claim meanwhile, with a lower number.
  fleet.servers[2].state = Server::State::up;
  fleet.servers[2].owner = fleet.servers[2].granted_to = lease->token;
  fleet.servers[2].fence = 400;
  CHECK(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
  CHECK(fleet.servers[2].fence == lease->fence);
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

}  // namespace unit::quorum_absent
