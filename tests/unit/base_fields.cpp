#include "base/fields.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace unit::base_fields {

using base::fields_of;
using base::number_in;
using Fields = std::vector<std::string_view>;

TEST_CASE("fields stand between tabs, and may be empty") {
  CHECK(fields_of("one\ttwo\tthree") == Fields{"one", "two", "three"});
  CHECK(fields_of("") == Fields{""});
  CHECK(fields_of("\t") == Fields{"", ""});
  CHECK(fields_of("one\t\t") == Fields{"one", "", ""});
}

TEST_CASE("a number is the whole text") {
  CHECK(number_in<int>("42") == 42);
  CHECK(number_in<int>("-1") == -1);
  CHECK(number_in<std::uint64_t>("18446744073709551615") == 18446744073709551615U);
  for (const auto* text : {"", " 1", "1 ", "+1", "0x1", "1.0", "one", "-"}) {
    CHECK_FALSE(number_in<int>(text));
  }
}

TEST_CASE("a number that does not fit is none") {
  CHECK_FALSE(number_in<std::uint64_t>("18446744073709551616"));
  CHECK_FALSE(number_in<unsigned>("-1"));
  CHECK_FALSE(number_in<int>("2147483648"));
}

}  // namespace unit::base_fields
