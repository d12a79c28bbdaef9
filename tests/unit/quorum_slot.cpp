// A slot on a quorum: done where one server of a majority says so, and one number for a run.
#include <doctest/doctest.h>

#include "fake_quorum.hpp"

namespace unit::quorum_slot {

using namespace store;
using namespace fake_quorum;
using State = rules::SlotState::Kind;

namespace {

const Slot slot{"2026-11-24", 5};

Claim run_of(const char* label) {
  auto claim = claim_of(label);
  claim.slot = slot;
  claim.history = Millis{60'000};
  return claim;
}

Parting ended(const Lease& lease, Parting::SlotEnd how, int code = 0) {
  Parting parting{{}, Millis{60'000}, RunEnd{{RunOutcome::Kind::exited, code}}};
  parting.slot = {slot, lease.attempt, lease.failures, how};
  return parting;
}

std::optional<Lease> run(Fleet& fleet, const char* label, Parting::SlotEnd how, int code = 0) {
  const auto store = fleet.open();
  auto lease = leased(store->try_acquire(run_of(label), within(2'000)));
  if (lease) (void)store->release(key, lease->token, ended(*lease, how, code), within(2'000));
  return lease;
}

}  // namespace

TEST_CASE("a slot is done if one server of those that are asked says so") {
  for (std::size_t knows = 0; knows < 3; ++knows) {
    Fleet fleet{3};
    const auto by = claim_of("one").token;
    for (auto& server : fleet.servers) server.slot = {State::open, {2, 0}};
    fleet.servers[knows].slot = {State::done, {2, 0}, by.text(), {}, {RunOutcome::Kind::exited, 3}};
    const auto attempt = fleet.open()->try_acquire(run_of("two"), within(2'000));
    const auto* done = std::get_if<SlotDone>(&attempt);
    REQUIRE(done != nullptr);
    CHECK(done->by == by);
    CHECK(done->attempt == 2);
    CHECK(done->outcome == RunOutcome{RunOutcome::Kind::exited, 3});
    // The others' grants meanwhile were not runs.
    for (const auto& server : fleet.servers) {
      CHECK_FALSE(server.owner);
      CHECK(server.slot.runs.attempt == 2);
    }
  }
}

TEST_CASE("a slot is done where the server that says so is the slowest") {
  Fleet fleet{3};
  fleet.servers[1].slot = {
      State::done, {1, 0}, claim_of("one").token.text(), {}, {RunOutcome::Kind::exited, 0}};
  const auto store = fleet.open();
  (void)store->check(key, claim_of("two").token, within(2'000));  // all answer, and are waited for
  fleet.servers[1].delay = Millis{30};
  CHECK(std::holds_alternative<SlotDone>(store->try_acquire(run_of("two"), within(2'000))));
  for (const auto& server : fleet.servers) CHECK_FALSE(server.owner);
}

TEST_CASE("later runs find done what a majority heard, whichever server is down then") {
  for (std::size_t first = 0; first < 3; ++first) {
    for (std::size_t second = 0; second < 3; ++second) {
      Fleet fleet{3};
      fleet.servers[first].state = Server::State::refusing;
      REQUIRE(run(fleet, "one", Parting::SlotEnd::done));
      fleet.servers[first].state = Server::State::up;
      fleet.servers[second].state = Server::State::refusing;
      CHECK(std::holds_alternative<SlotDone>(
          fleet.open()->try_acquire(run_of("two"), within(2'000))));
    }
  }
}

TEST_CASE("a grant of a minority that was taken back is not an attempt") {
  Fleet fleet{3};
  const auto other = claim_of("other").token;
  fleet.servers[0].owner = fleet.servers[1].owner = other;
  for (int tries = 0; tries < 3; ++tries) {
    CHECK(std::holds_alternative<Busy>(fleet.open()->try_acquire(run_of("one"), within(2'000))));
    for (const auto& server : fleet.servers) CHECK(server.slot.runs.attempt == 0);
  }
  fleet.servers[0].owner.reset();
  CHECK(run(fleet, "one", Parting::SlotEnd::open)->attempt == 1);
}

TEST_CASE("the numbers of the runs grow, whichever server misses one") {
  for (std::size_t start = 0; start < 3; ++start) {
    Fleet fleet{3};
    for (unsigned number = 1; number <= 6; ++number) {
      const std::size_t down = (start + number) % 3;
      fleet.servers[down].state = Server::State::refusing;
      const auto store = fleet.open();
      const auto lease = leased(store->try_acquire(run_of("one"), within(2'000)));
      REQUIRE(lease);
      CHECK(lease->attempt == number);
      CHECK(lease->failures == number - 1);
      const auto failed = ended(*lease, Parting::SlotEnd::failed, 1);
      CHECK(std::holds_alternative<Released>(
          store->release(key, lease->token, failed, within(2'000))));
      fleet.servers[down].state = Server::State::up;
    }
  }
}

TEST_CASE("the number of a run that vanished is also known to any majority") {
  Fleet fleet{3};
  for (unsigned number = 1; number <= 6; ++number) {
    const std::size_t down = number % 3;
    fleet.servers[down].state = Server::State::refusing;
    CHECK(leased(fleet.open()->try_acquire(run_of("one"), within(2'000)))->attempt == number);
    fleet.servers[down].state = Server::State::up;
    for (auto& server : fleet.servers) server.owner.reset();  // its lease is over
  }
}

TEST_CASE("a server that lost its data is told of the slot when it is healed") {
  Fleet fleet{3};
  REQUIRE(run(fleet, "one", Parting::SlotEnd::failed, 1));
  const auto store = fleet.open();
  const auto lease = leased(store->try_acquire(run_of("two"), within(2'000)));
  REQUIRE(lease);
  CHECK(lease->attempt == 2);
  fleet.servers[1].forget();
  fleet.servers[1].clock = 10'000;  // so that it gives a later fence
  REQUIRE(std::holds_alternative<Renewed>(store->renew(key, lease->token, ttl, within(2'000))));
  CHECK(fleet.servers[1].slot.runs.attempt == 2);
  CHECK(fleet.servers[1].slot.runs.failures == 1);
  (void)store->release(key, lease->token, ended(*lease, Parting::SlotEnd::done), within(2'000));
  CHECK(fleet.servers[1].slot.is_done());
}

}  // namespace unit::quorum_slot
