#include "base/duration.hpp"

#include <doctest/doctest.h>

#include <string>

namespace unit::base_duration {

using base::format_duration;
using base::Millis;
using base::parse_duration;

TEST_CASE("a bare number is seconds") {
  CHECK(parse_duration("30") == Millis{30'000});
  CHECK(parse_duration("0") == Millis{0});
  CHECK(parse_duration("2.5") == Millis{2'500});
  CHECK(parse_duration(".5") == Millis{500});
  CHECK(parse_duration("1.") == Millis{1'000});
}

TEST_CASE("every unit of a duration counts as it should") {
  CHECK(parse_duration("1ms") == Millis{1});
  CHECK(parse_duration("1s") == Millis{1'000});
  CHECK(parse_duration("1m") == Millis{60'000});
  CHECK(parse_duration("1h") == Millis{3'600'000});
  CHECK(parse_duration("1d") == Millis{86'400'000});
}

TEST_CASE("durations add up") {
  CHECK(parse_duration("1h30m") == Millis{5'400'000});
  CHECK(parse_duration("1m500ms") == Millis{60'500});
  CHECK(parse_duration("1.5h0.5m") == Millis{5'430'000});
  CHECK(parse_duration("1s1s") == Millis{2'000});
}

TEST_CASE("a duration is rounded to the nearest millisecond") {
  CHECK(parse_duration("0.4ms") == Millis{0});
  CHECK(parse_duration("0.5ms") == Millis{1});
  CHECK(parse_duration("1.0014") == Millis{1'001});
  CHECK(parse_duration("1.0016") == Millis{1'002});
}

TEST_CASE("a text that is not a duration is refused") {
  for (const char* text :
       {"",    "s",    "ms",   "-1",  "+1", " 1",   "1 ",    "1x",     "1S",  "inf", "nan",
        "1e3", "0x10", "1h30", "1,5", ".",  "1..5", "1.2.3", "1h 30m", "m30", "1sm"}) {
    CAPTURE(std::string{text});
    CHECK(parse_duration(text) == std::nullopt);
  }
  CHECK(parse_duration(std::string_view{"1\0s", 3}) == std::nullopt);
}

TEST_CASE("a duration of more than a thousand years is not taken") {
  CHECK(parse_duration("365000d") == Millis{31'536'000'000'000});
  CHECK(parse_duration("365001d") == std::nullopt);
  CHECK(parse_duration("365000d1ms") == std::nullopt);
  CHECK(parse_duration(std::string(400, '9')) == std::nullopt);
}

TEST_CASE("a duration is said with at most two units") {
  CHECK(format_duration(Millis{0}) == "0ms");
  CHECK(format_duration(Millis{999}) == "999ms");
  CHECK(format_duration(Millis{1'000}) == "1s");
  CHECK(format_duration(Millis{59'999}) == "59s");
  CHECK(format_duration(Millis{60'000}) == "1m");
  CHECK(format_duration(Millis{192'000}) == "3m12s");
  CHECK(format_duration(Millis{3'599'999}) == "59m59s");
  CHECK(format_duration(Millis{3'600'000}) == "1h");
  CHECK(format_duration(Millis{86'399'999}) == "23h59m");
  CHECK(format_duration(Millis{86'400'000}) == "1d");
  CHECK(format_duration(Millis{187'200'000}) == "2d4h");
}

TEST_CASE("a formatted duration can be parsed") {
  for (const auto* text : {"350ms", "12s", "3m12s", "5h7m", "2d4h"}) {
    CAPTURE(std::string{text});
    const auto length = parse_duration(text);
    REQUIRE(length);
    CHECK(format_duration(*length) == text);
  }
}

}  // namespace unit::base_duration
