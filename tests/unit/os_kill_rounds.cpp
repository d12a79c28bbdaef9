#include "os/kill_rounds.hpp"

#include <doctest/doctest.h>

namespace unit::os_kill_rounds {

using base::Deadline;
using base::Millis;

namespace {

os::Reached meeting(std::initializer_list<os::Process> members) {
  os::Reached reached;
  reached.members = members;
  return reached;
}

}  // namespace

TEST_CASE("the first round of KILL is due at once") {
  const os::KillRounds rounds;
  CHECK(rounds.due().passed(base::Moment{}));
  CHECK_FALSE(rounds.is_stuck());
}

TEST_CASE("rounds that meet the same processes come after 10 ms, and then less and less often") {
  os::KillRounds rounds;
  const base::Moment now{Millis{5'000}};
  for (const int pause : {10, 20, 40, 80, 160, 320, 640, 1'000, 1'000}) {
    rounds.met(meeting({{7, 1, 'D', 70}}), now);
    CHECK(rounds.due() == Deadline::after(now, Millis{pause}));
    CHECK(rounds.is_stuck() == (pause > 10));
  }
}

TEST_CASE("a round that meets another process is followed by the next one after 10 ms") {
  os::KillRounds rounds;
  const base::Moment now{Millis{5'000}};
  for (int i = 0; i < 5; ++i) rounds.met(meeting({{7, 1, 'D', 70}}), now);
  SUBCASE("a new one") {
    rounds.met(meeting({{7, 1, 'D', 70}, {8, 7, 'R', 71}}), now);
  }
  SUBCASE("one that got the number of another") {
    rounds.met(meeting({{7, 1, 'R', 71}}), now);
  }
  SUBCASE("none") {
    rounds.met(meeting({}), now);
  }
  CHECK(rounds.due() == Deadline::after(now, Millis{10}));
  CHECK_FALSE(rounds.is_stuck());
}

}  // namespace unit::os_kill_rounds
