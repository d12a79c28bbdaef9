// The line that people see while they wait.
#include "hold/progress.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"

namespace unit::hold_status_line {

namespace {

store::LockName name(std::string_view text) {
  return *store::LockName::from(text);
}

const store::Queued second{store::Holder{store::Holder::Kind::holder,
                                         "app@h:1/job#0123456789012345678901234567890123456789",
                                         base::Millis{12'000}, std::nullopt, 0},
                           1, std::nullopt};

}  // namespace

TEST_CASE("elsewhere than on a terminal the line is whole") {
  CHECK(hold::waiting_text(name("deploy"), second, "", std::nullopt) ==
        "waiting for 'deploy': held by app@h:1/job for 12s, position 2");
  CHECK(hold::waiting_text(name("deploy"), second, "no answer", std::nullopt) ==
        "waiting for 'deploy': cannot reach the server (no answer); trying again");
}

TEST_CASE("on a terminal the position comes first, and the line is as wide as that") {
  CHECK(hold::waiting_text(name("deploy"), second, "", 80) ==
        "waiting for 'deploy', position 2: held by app@h:1/job for 12s");
  CHECK(hold::waiting_text(name("deploy"), second, "", 40) ==
        "waiting for 'deploy', position 2: held …");
  CHECK(hold::waiting_text(name(std::string(200, 'k')), second, "", 60)
            .starts_with("waiting for 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkk…', position 2"));
  CHECK(hold::waiting_text(name("deploy"), second, "", 1) == "…");
}

TEST_CASE("text is cut to columns between characters") {
  CHECK(base::fit_columns("abc", 3) == "abc");
  CHECK(base::fit_columns("abcd", 3) == "ab…");
  CHECK(base::fit_columns("\xc3\xbc\xc3\xbc\xc3\xbc", 2) == "\xc3\xbc…");
  CHECK(base::fit_columns("\xe6\xbc\xa2\xe6\xbc\xa2", 4) == "\xe6\xbc\xa2\xe6\xbc\xa2");
  CHECK(base::fit_columns("\xe6\xbc\xa2\xe6\xbc\xa2", 3) == "\xe6\xbc\xa2…");
  CHECK(base::fit_columns("a", 0).empty());
  CHECK(base::fit_columns("", 5).empty());
}

TEST_CASE("text is cut to bytes between characters") {
  CHECK(base::cut_to("abc", 5) == "abc");
  CHECK(base::cut_to("abc", 2) == "ab");
  CHECK(base::cut_to("a\xc3\xbc", 2) == "a");
  CHECK(base::cut_to("\xc3\xbc", 1).empty());
}

}  // namespace unit::hold_status_line
