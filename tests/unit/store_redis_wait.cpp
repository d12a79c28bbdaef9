// How long a waiter blocks, by its place and by who has the lock.
#include <doctest/doctest.h>

#include "store/redis/wait.hpp"

namespace unit::store_redis_wait {

using namespace store;
using namespace store::redis;

namespace {

Queued place(std::size_t ahead, Holder::Kind kind, std::optional<Millis> look_in,
             std::optional<Millis> expires_in = std::nullopt) {
  return {Holder{kind, "t", std::nullopt, expires_in}, ahead, look_in};
}

}  // namespace

TEST_CASE("a lock that was free when we queued is looked at again at once") {
  const auto time = wait_time_for({std::nullopt, 0, std::nullopt});
  CHECK(time.server_timeout == second_look);
  CHECK_FALSE(time.cut);
}

TEST_CASE("a waiter in the middle of the queue only shows that it lives") {
  const auto time = wait_time_for(place(5, Holder::Kind::holder, std::nullopt));
  CHECK(time.server_timeout == heartbeat);
  CHECK_FALSE(time.cut);
}

TEST_CASE("the second one looks when the first would have to have shown itself") {
  CHECK(wait_time_for(place(1, Holder::Kind::holder, Millis{700})).server_timeout == Millis{700});
  CHECK(wait_time_for(place(1, Holder::Kind::holder, Millis{99'000})).server_timeout == heartbeat);
}

TEST_CASE("the first one looks shortly before the end of a lease that is refreshed") {
  const auto time = wait_time_for(place(0, Holder::Kind::holder, Millis{5'000}));
  CHECK(time.server_timeout == Millis{4'881});
  CHECK_FALSE(time.cut);
  CHECK(wait_time_for(place(0, Holder::Kind::holder, Millis{30'000})).server_timeout == heartbeat);
  CHECK(wait_time_for(place(0, Holder::Kind::holder, heartbeat)).server_timeout == heartbeat);
}

TEST_CASE("at the very end of a lease our own clock ends the wait, exactly") {
  for (const Millis left : {Millis{0}, Millis{100}, Millis{239}}) {
    const auto time = wait_time_for(place(0, Holder::Kind::holder, left));
    CHECK(time.cut == left + Millis{1});
    CHECK(time.server_timeout > *time.cut);
  }
  CHECK_FALSE(wait_time_for(place(0, Holder::Kind::holder, Millis{240})).cut);
}

TEST_CASE("a holder that is no rlock sends no wake and is looked at again and again") {
  for (int i = 0; i < 100; ++i) {
    const auto time = wait_time_for(place(0, Holder::Kind::foreign, Millis{9'000}));
    CHECK(time.server_timeout >= Millis{200});
    CHECK(time.server_timeout <= Millis{500});
  }
  const auto soon = wait_time_for(place(0, Holder::Kind::foreign, Millis{10}, Millis{10}));
  CHECK(soon.server_timeout == Millis{11});
}

TEST_CASE("a lock without an end is looked at again and again") {
  const auto time = wait_time_for(place(0, Holder::Kind::holder, std::nullopt));
  CHECK(time.server_timeout <= Millis{500});
}

}  // namespace unit::store_redis_wait
