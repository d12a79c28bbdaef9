// How many runs are remembered, which one makes room, and how long a run takes.
#include "store/rules/runs.hpp"

#include <doctest/doctest.h>

#include <set>

namespace unit::rules_runs {
namespace {

using namespace store;
using namespace store::rules;
using base::Millis;
using Kind = RunOutcome::Kind;

std::vector<Run> so_many(std::size_t count) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) {
    runs.push_back({Token::foreign("t"), count - i, Millis{1}, {}, Millis{1}, {Kind::exited}, {}});
  }
  return runs;
}

}  // namespace

TEST_CASE("the fifty newest runs are remembered") {
  CHECK(remembered_runs == 50);
  CHECK(newest_of({}).empty());
  CHECK(newest_of(so_many(50)).size() == 50);
  const auto runs = newest_of(so_many(53));
  REQUIRE(runs.size() == 50);
  CHECK(runs.front().fence == 53);
  CHECK(runs.back().fence == 4);
}

TEST_CASE("the oldest run that does not go on makes room for the next one") {
  std::set<std::size_t> going_on;
  const auto goes_on = [&](std::size_t run) { return going_on.count(run) > 0; };
  CHECK_FALSE(makes_room(0, goes_on));
  CHECK_FALSE(makes_room(49, goes_on));
  CHECK(makes_room(50, goes_on) == 49u);
  CHECK(makes_room(60, goes_on) == 59u);
  going_on = {49, 48};
  CHECK(makes_room(50, goes_on) == 47u);
  for (std::size_t run = 0; run < 50; ++run) going_on.insert(run);
  CHECK_FALSE(makes_room(50, goes_on));
}

TEST_CASE("a typical run is the median of the last ones that ended by themselves") {
  std::vector<store::Run> runs;
  const auto ran = [&](Kind kind, std::optional<Millis> held) {
    Run run{Token::foreign("u#1"), 1, Millis{9'000}, {}, held, {kind}, {}};
    runs.insert(runs.begin(), run);
  };
  CHECK_FALSE(typical_length(runs));
  ran(Kind::running, std::nullopt);
  ran(Kind::lost, Millis{1});
  ran(Kind::cancelled, Millis{1});
  ran(Kind::overran, Millis{1});
  ran(Kind::exited, std::nullopt);  // of no rlock
  CHECK_FALSE(typical_length(runs));
  ran(Kind::exited, Millis{700});
  CHECK(typical_length(runs) == Millis{700});
  ran(Kind::exited, Millis{300});
  CHECK(typical_length(runs) == Millis{300});
  ran(Kind::released, Millis{500});
  CHECK(typical_length(runs) == Millis{500});
  for (int i = 0; i < 20; ++i) ran(Kind::exited, Millis{50});
  CHECK(typical_length(runs) == Millis{50});
  for (int i = 0; i < 20; ++i) ran(Kind::lost, Millis{50});
  CHECK_FALSE(typical_length(runs));
}

}  // namespace unit::rules_runs
