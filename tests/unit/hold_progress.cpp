// How a holder is described, and what a job is told.
#include "hold/progress.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "hold/environment.hpp"

namespace unit::hold_progress {

namespace {

using base::Millis;
using Kind = store::Holder::Kind;
using Mode = store::Mode::Kind;

store::Lease lease(const std::string& name, store::Fence fence) {
  return {*store::LockName::from(name),
          store::Token::foreign("ann#1"),
          *store::Ttl::from(Millis{1'000}),
          base::Deadline::never(),
          fence,
          {}};
}
bool has(const std::vector<std::string>& environment, const std::string& variable) {
  return std::count(environment.begin(), environment.end(), variable) == 1;
}

}  // namespace

TEST_CASE("the holder of a lock is described by its kind") {
  const auto said = [](Kind kind, const std::string& token, std::optional<Millis> expires = {}) {
    return hold::describe(store::Holder{kind, token, std::nullopt, expires});
  };
  CHECK(hold::describe(std::nullopt) == "free, but others wait for it");
  CHECK(said(Kind::holder, "ann") == "held by ann");
  CHECK(said(Kind::kept, "ann") == "kept by --min-hold after the job of ann");
  CHECK(said(Kind::reserved, "ann") == "reserved for ann");
  CHECK(said(Kind::neighbour, "ann") == "behind ann of this host");
  CHECK(said(Kind::foreign, "x", Millis{1}) == "held by a foreign client (x)");
  CHECK(said(Kind::foreign, "x") == "held by a foreign client (x), without expiry");
  CHECK(said(Kind::foreign, "", Millis{1}) ==
        "held by a foreign client (its value is empty or no string)");
  CHECK(hold::describe(store::Holder{Kind::holder, "ann", Millis{192'000}, std::nullopt, 2}) ==
        "held by ann and 2 more for 3m12s");
}

namespace {

store::Queued behind(Kind kind, std::optional<Millis> held_for, std::size_t ahead,
                     std::optional<Millis> typical, std::optional<Millis> expires_in = {}) {
  return {store::Holder{kind, "ann", held_for, expires_in}, ahead, std::nullopt, typical};
}

}  // namespace

TEST_CASE("the wait that is expected: what the holder has left, and a run for each one ahead") {
  const auto expected = [](const store::Queued& place) { return hold::expected_wait(place, {}); };
  const Millis usual{60'000};
  CHECK(expected(behind(Kind::holder, Millis{0}, 0, usual)) == usual);
  CHECK(expected(behind(Kind::holder, Millis{20'000}, 0, usual)) == Millis{40'000});
  CHECK(expected(behind(Kind::holder, Millis{20'000}, 3, usual)) == Millis{220'000});
  // One of those ahead has it reserved.
  CHECK(expected(behind(Kind::reserved, {}, 2, usual)) == 2 * usual);
  CHECK(expected({std::nullopt, 1, std::nullopt, usual}) == usual);
  CHECK(expected(behind(Kind::kept, Millis{1}, 1, usual, Millis{500})) == usual + Millis{500});
}

TEST_CASE("a holder that is over the usual time makes no negative and no absurd estimate") {
  const Millis usual{60'000};
  for (int seconds = 0; seconds <= 120; ++seconds) {
    const auto wait =
        hold::expected_wait(behind(Kind::holder, Millis{seconds * 1'000}, 0, usual), {});
    REQUIRE(wait);
    CHECK(*wait >= usual / 10);
    CHECK(*wait <= usual);
  }
  const auto hangs = behind(Kind::holder, Millis{121'000}, 5, usual);
  CHECK_FALSE(hold::expected_wait(hangs, {}));
  CHECK(hold::outlook(hangs, {}) == ", runs usually take 1m");
  // Of several holders another one makes room.
  auto one_hangs = hangs;
  one_hangs.holder->others = 2;
  CHECK(hold::expected_wait(one_hangs, {Mode::permits, 3}) == usual / 2 + 5 * usual / 2);
}

TEST_CASE("permits let so many run at a time; of readers nothing is known") {
  const auto place = behind(Kind::holder, Millis{0}, 6, Millis{10'000});
  CHECK(hold::expected_wait(place, {Mode::permits, 3}) == Millis{30'000});
  CHECK_FALSE(hold::expected_wait(place, {Mode::shared, 1}));
  CHECK(hold::outlook(place, {Mode::shared, 1}).empty());
}

TEST_CASE("nothing is expected where nothing is known") {
  const Millis usual{60'000};
  CHECK_FALSE(hold::expected_wait(behind(Kind::holder, Millis{0}, 0, {}), {}));
  CHECK_FALSE(hold::expected_wait(behind(Kind::holder, {}, 0, usual), {}));
  CHECK_FALSE(hold::expected_wait(behind(Kind::foreign, {}, 0, usual, Millis{9}), {}));
  CHECK_FALSE(hold::expected_wait(behind(Kind::neighbour, Millis{0}, 0, usual), {}));
  CHECK(hold::outlook(behind(Kind::holder, Millis{0}, 0, {}), {}).empty());
  const auto huge = behind(Kind::holder, Millis{0}, ~std::size_t{0}, Millis::max() / 4);
  CHECK(hold::expected_wait(huge, {}) == store::Ttl::longest);
}

TEST_CASE("an estimate is told in round figures") {
  const auto told = [](Millis length) {
    return hold::outlook(behind(Kind::holder, Millis{0}, 0, length), {});
  };
  CHECK(told(Millis{1}) == ", about 100ms");
  CHECK(told(Millis{340}) == ", about 300ms");
  CHECK(told(Millis{4'700}) == ", about 5s");
  CHECK(told(Millis{43'000}) == ", about 45s");
  CHECK(told(Millis{232'000}) == ", about 3m45s");
  CHECK(told(Millis{262'000}) == ", about 4m");
  CHECK(told(Millis{60'000} * 47) == ", about 45m");
  CHECK(told(Millis{3'600'000} * 13) == ", about 13h");
}

TEST_CASE("a job is told its key and fence, and of all locks around it") {
  ::setenv("RLOCK_HOLDS", "bob#1\tredis://h\ta\t3", 1);
  ::setenv("RLOCK_KEY", "old", 1);
  ::setenv("RLOCK_SERVER", "redis://old", 1);
  const auto one = hold::job_environment({lease("b", 4)}, {"redis://h", std::nullopt});
  CHECK(has(one, "RLOCK_KEY=b"));
  CHECK(has(one, "RLOCK_FENCE=4"));
  CHECK(has(one, "RLOCK_HELD=1"));
  CHECK(has(one, "RLOCK_TOKEN=ann#1"));
  CHECK(has(one, "RLOCK_SERVER=redis://old"));
  CHECK_FALSE(has(one, "RLOCK_KEY=old"));
  CHECK(has(one, "RLOCK_HOLDS=bob#1\tredis://h\ta\t3\nann#1\tredis://h\tb\t4"));

  const auto two = hold::job_environment({lease("b", 4), lease("c", 5)},
                                         {"redis://h", store::ServerUrl{"redis://n"}});
  CHECK(has(two, "RLOCK_FENCES=b=4\nc=5"));
  CHECK(has(two, "RLOCK_SERVER=redis://n"));
  CHECK_FALSE(has(two, "RLOCK_SERVER=redis://old"));

  ::setenv("RLOCK_HOLDS", "ann#1\tredis://h\tb\t4", 1);  // reentrant: told once
  CHECK(has(hold::job_environment({lease("b", 4)}, {"redis://h", std::nullopt}),
            "RLOCK_HOLDS=ann#1\tredis://h\tb\t4"));
  for (const char* name : {"RLOCK_HOLDS", "RLOCK_KEY", "RLOCK_SERVER"}) ::unsetenv(name);
}

TEST_CASE("a job is told its permit, and a run inside leaves that as it is") {
  auto mine = lease("b", 4);
  ::setenv("RLOCK_PERMIT", "9", 1);
  ::setenv("RLOCK_RESOURCE", "old", 1);
  const auto has_any = [](const std::vector<std::string>& environment) {
    return std::any_of(environment.begin(), environment.end(), [](const std::string& each) {
      return each.starts_with("RLOCK_PERMIT=") || each.starts_with("RLOCK_RESOURCE=");
    });
  };
  // A run around this one has another lock.
  CHECK_FALSE(has_any(hold::job_environment({mine}, {"redis://h", std::nullopt})));
  ::setenv("RLOCK_TOKEN", mine.token.text().c_str(), 1);
  const auto inside = hold::job_environment({mine}, {"redis://h", std::nullopt});
  CHECK(has(inside, "RLOCK_PERMIT=9"));
  CHECK(has(inside, "RLOCK_RESOURCE=old"));
  for (const char* name : {"RLOCK_TOKEN", "RLOCK_PERMIT", "RLOCK_RESOURCE"}) ::unsetenv(name);
  mine.permit = 2;
  const auto plain = hold::job_environment({mine}, {"redis://h", std::nullopt});
  CHECK(has(plain, "RLOCK_PERMIT=2"));
  CHECK_FALSE(has(plain, "RLOCK_RESOURCE="));
  mine.resource = "gpu:1";
  CHECK(has(hold::job_environment({mine}, {"redis://h", std::nullopt}), "RLOCK_RESOURCE=gpu:1"));
}

TEST_CASE("the locks around a run are read from its environment, line by line") {
  ::unsetenv("RLOCK_HOLDS");
  CHECK(hold::outer_holds().empty());
  ::setenv("RLOCK_HOLDS",
           "ann#1\tredis://h\ta\t3\nnonsense\nhalf\tone\nbob#2\tfile:\tb c\nx\ty\tz\tw", 1);
  const auto holds = hold::outer_holds();
  REQUIRE(holds.size() == 3);
  CHECK(holds[0].token.text() == "ann#1");
  CHECK(holds[0].server == "redis://h");
  CHECK(holds[0].key == "a");
  CHECK(holds[0].fence == 3);
  CHECK(holds[1].key == "b c");
  CHECK(holds[1].fence == 0);
  CHECK(holds[2].fence == 0);
  ::unsetenv("RLOCK_HOLDS");
}

}  // namespace unit::hold_progress
