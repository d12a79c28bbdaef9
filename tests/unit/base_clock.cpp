#include "base/clock.hpp"

#include <doctest/doctest.h>

namespace unit::base_clock {

using base::Deadline;
using base::Millis;
using base::Moment;

namespace {

Moment at(std::int64_t nanoseconds) {
  return Moment{std::chrono::nanoseconds{nanoseconds}};
}

}  // namespace

TEST_CASE("the clock does not run backwards") {
  const auto one = base::now();
  const auto two = base::now();
  CHECK(one <= two);
  CHECK(one > Moment{});
}

TEST_CASE("a deadline has passed at its moment, and not before") {
  const auto deadline = Deadline::at(at(1000));
  CHECK_FALSE(deadline.passed(at(999)));
  CHECK(deadline.passed(at(1000)));
  CHECK(deadline.passed(at(1001)));
  CHECK(deadline.moment() == at(1000));
  CHECK_FALSE(deadline.is_never());
}

TEST_CASE("never comes later than any deadline") {
  CHECK(Deadline::never().is_never());
  CHECK_FALSE(Deadline::never().passed(at(1'000'000'000)));
  CHECK(Deadline::never() > Deadline::after(at(0), Millis{1'000'000'000}));
  CHECK(std::min(Deadline::never(), Deadline::at(at(5))) == Deadline::at(at(5)));
  CHECK(Deadline::never().left(at(0)) == Millis::max());
}

TEST_CASE("a deadline after a length is that much later") {
  CHECK(Deadline::after(at(500), Millis{2}).moment() == at(2'000'500));
  CHECK(Deadline::after(at(500), Millis{0}).moment() == at(500));
  CHECK(Deadline::after(at(5'000'000), Millis{-2}).moment() == at(3'000'000));
}

TEST_CASE("a deadline too far away is never") {
  CHECK(Deadline::after(at(0), Millis::max()).is_never());
  CHECK(Deadline::after(at(1'000'000'000), Millis::max()).is_never());
  const auto most = std::chrono::duration_cast<Millis>(Moment::max() - at(0));
  CHECK(Deadline::after(at(0), most).is_never());
  CHECK_FALSE(Deadline::after(at(0), most - Millis{1}).is_never());
}

TEST_CASE("the time left to a deadline is rounded up") {
  const auto deadline = Deadline::at(at(3'000'000));
  CHECK(deadline.left(at(0)) == Millis{3});
  CHECK(deadline.left(at(1)) == Millis{3});
  CHECK(deadline.left(at(1'000'000)) == Millis{2});
  CHECK(deadline.left(at(2'999'999)) == Millis{1});
  CHECK(deadline.left(at(3'000'000)) == Millis{0});
  CHECK(deadline.left(at(9'000'000)) == Millis{0});
}

TEST_CASE("an earlier deadline is earlier by the length, and never stays never") {
  CHECK(Deadline::at(at(3'000'000)).earlier_by(Millis{2}) == Deadline::at(at(1'000'000)));
  CHECK(Deadline::never().earlier_by(Millis{2}).is_never());
}

}  // namespace unit::base_clock
