// How soon a waiter asks again.
#include "hold/wait_pace.hpp"

#include <doctest/doctest.h>

namespace unit::hold_wait_pace {

using base::Millis;
using base::Moment;
using hold::WaitPace;

namespace {

const Moment start{std::chrono::hours{1}};

/// How many questions a second of such waits brings, the longest of ten.
int most_in_a_second(WaitPace& pace, Millis wait, bool cut) {
  int most = 0;
  Moment now = start;
  for (int second = 0; second < 10; ++second) {
    int asked = 0;
    for (const Moment end = now + Millis{1'000}; now < end; ++asked) {
      const Moment began = now;
      now += wait;
      now += pace.after_wait(began, now, cut);
    }
    most = second < 3 ? most : std::max(most, asked);
  }
  return most;
}

}  // namespace

TEST_CASE("after a fault or a wait that was cut the pause doubles, up to a second") {
  WaitPace pace;
  for (const int pause : {50, 100, 200, 400, 800, 1'000, 1'000}) {
    CHECK(pace.after_wait(start, start, true) == Millis{pause});
  }
  CHECK(pace.after_fault() == Millis{1'000});
}

TEST_CASE("a claim that is queued does not end the back-off, and a wait that lasted does") {
  WaitPace pace;
  CHECK(pace.after_fault() == Millis{50});
  CHECK(pace.after_wait(start, start + Millis{10}, false) == Millis{0});
  CHECK(pace.after_fault() == Millis{100});
  CHECK(pace.after_wait(start, start + Millis{1'000}, false) == Millis{0});
  CHECK(pace.after_fault() == Millis{50});
}

TEST_CASE("no server makes a waiter ask more than some ten times a second for long") {
  for (const int wait : {0, 1, 5}) {
    WaitPace cut;
    CHECK(most_in_a_second(cut, Millis{wait}, true) <= 2);
    WaitPace woken;
    CHECK(most_in_a_second(woken, Millis{wait}, false) <= 11);
  }
}

TEST_CASE("wakes that come quickly one after another cost nothing at first") {
  WaitPace pace;
  for (int wakes = 0; wakes < 200; ++wakes) {
    CHECK(pace.after_wait(start, start + Millis{1}, false) == Millis{0});
  }
  CHECK(pace.after_wait(start, start + Millis{1}, false) > Millis{0});
  CHECK(pace.after_wait(start, start + Millis{60}, false) == Millis{0});
  CHECK(pace.after_wait(start, start + Millis{1}, false) == Millis{0});
}

TEST_CASE("waits that are cut for a second are worth a word, once") {
  WaitPace pace;
  CHECK(!pace.is_to_be_said(start));
  (void)pace.after_wait(start, start, true);
  CHECK(!pace.is_to_be_said(start + Millis{900}));
  CHECK(pace.is_to_be_said(start + Millis{1'000}));
  CHECK(!pace.is_to_be_said(start + Millis{2'000}));
  (void)pace.after_wait(start + Millis{2'000}, start + Millis{4'000}, false);
  (void)pace.after_wait(start + Millis{4'000}, start + Millis{4'000}, true);
  CHECK(pace.is_to_be_said(start + Millis{5'000}));
}

}  // namespace unit::hold_wait_pace
