// Which slot a moment is in.
#include <doctest/doctest.h>

#include <cstdlib>

#include "cmd/slot.hpp"
#include "os/time_zone.hpp"
#include "surroundings.hpp"

namespace unit::cmd_slot {
namespace {

using cmd::slot_named;

/// The local clock of a place, for as long as this lives.
class In {
 public:
  explicit In(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  In(const In&) = delete;
  In& operator=(const In&) = delete;
  ~In() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

// Central Europe, written out, so that no data of time zones is needed.
constexpr const char* berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr std::time_t november = 1795487864;  // 2026-11-24 02:37:44 UTC

}  // namespace

TEST_CASE("any text but one with an @ is a slot of that name") {
  CHECK(slot_named("2026-11-24", november) == "2026-11-24");
  CHECK(slot_named("v1.2@abc", november) == "v1.2@abc");
}

TEST_CASE("text behind @= is a slot of that name, also the name of a period") {
  CHECK(slot_named("@=day", november) == "day");
  CHECK(slot_named("@=@day", november) == "@day");
}

TEST_CASE("the words of crontab are slots of the clock") {
  for (const auto& [word, same] : {std::pair{"@daily", "@day"},
                                   {"@midnight", "@day"},
                                   {"@hourly", "@hour"},
                                   {"@weekly", "@week"},
                                   {"@monthly", "@month"}}) {
    CAPTURE(word);
    CHECK(slot_named(word, november) == slot_named(same, november));
  }
}

TEST_CASE("a slot of the clock is the floor of the local time") {
  const In place{berlin};
  CHECK(slot_named("@day", november) == "2026-11-24");
  CHECK(slot_named("@week", november) == "2026-W48");
  CHECK(slot_named("@month", november) == "2026-11");
  CHECK(slot_named("@hour", november) == "2026-11-24T03+0100");
  CHECK(slot_named("@1h", november) == "2026-11-24T03+0100");
  CHECK(slot_named("@15m", november) == "2026-11-24T03:30+0100");
  CHECK(slot_named("@1m", november) == "2026-11-24T03:37+0100");
  CHECK(slot_named("@30m", november) == "2026-11-24T03:30+0100");
  CHECK(slot_named("@6h", november) == "2026-11-24T00+0100");
}

TEST_CASE("a day begins at the midnight of the place") {
  const In place{"IST-5:30"};
  CHECK(slot_named("@day", november - 3 * 3600) == "2026-11-24");
  CHECK(slot_named("@day", november - 9 * 3600) == "2026-11-23");
  CHECK(slot_named("@hour", november) == "2026-11-24T08+0530");
}

TEST_CASE("the week belongs to the year of its Thursday") {
  const In place{"UTC0"};
  CHECK(slot_named("@week", 1798761600) == "2026-W53");  // 2027-01-01, a Friday
}

TEST_CASE("the hour that a change of the clocks repeats is two slots") {
  const In place{berlin};
  // 2026-10-25: at 03:00 CEST the clocks go back to 02:00 CET, which is 01:00 UTC.
  constexpr std::time_t change = 1792890000;
  CHECK(slot_named("@hour", change - 1800) == "2026-10-25T02+0200");
  CHECK(slot_named("@hour", change + 1800) == "2026-10-25T02+0100");
  CHECK(slot_named("@15m", change - 1800) == "2026-10-25T02:30+0200");
  CHECK(slot_named("@15m", change + 1800) == "2026-10-25T02:30+0100");
}

TEST_CASE("a period that divides neither the hour nor the day is not a slot") {
  for (const char* text : {"@", "@fortnight", "@7m", "@90m", "@0m", "@-5m", "@5h", "@24h", "@15",
                           "@15s", "@m", "@days", "@ day", "@Day", "@nightly", "@yearly"}) {
    CAPTURE(text);
    CHECK_FALSE(slot_named(text, november));
  }
}

}  // namespace unit::cmd_slot

TEST_CASE(
    "a zone is missing if what names it leads to no data, and a host that names none has UTC") {
  const unit::Surroundings around;
  ::unsetenv("TZ");
  const std::string file = around / "localtime";
  CHECK_FALSE(os::missing_time_zone(file));
  REQUIRE(::symlink("zoneinfo/Europe/Berlin", file.c_str()) == 0);
  CHECK(os::missing_time_zone(file) == file);
  REQUIRE(::unlink(file.c_str()) == 0);
  (void)around.write("localtime", "TZif2");
  CHECK_FALSE(os::missing_time_zone(file));
  (void)around.write("localtime", "Europe/Berlin");
  CHECK(os::missing_time_zone(file) == file);
}
