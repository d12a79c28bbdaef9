// The lines in which a server remembers runs.
#include <doctest/doctest.h>

#include "store/runs.hpp"

namespace unit::store_runs {
namespace {

using base::Millis;
using store::run_in;
using Kind = store::RunOutcome::Kind;

const std::string begun = "7\tu@h:1/x#1\t1000\t250\t\t";
constexpr std::int64_t now = 9000;

}  // namespace

TEST_CASE("the record of a claim and a release is read back") {
  const std::string open = "7\tu@h:1/x#1\t1000\t" + store::fields_of_claim(Millis{250}, "") + "\t";
  CHECK(open == begun);
  for (const Kind kind : {Kind::exited, Kind::signalled, Kind::lost, Kind::cancelled,
                          Kind::superseded, Kind::overran, Kind::not_started, Kind::released}) {
    CAPTURE(store::name_of(kind));
    const auto run =
        run_in(open + "\t4000\t" + store::fields_of_end({{kind, 3}, "a reason"}), now, false);
    REQUIRE(run);
    CHECK(run->outcome == store::RunOutcome{kind, 3});
    CHECK(run->why == "a reason");
    CHECK(run->token.text() == "u@h:1/x#1");
    CHECK(run->fence == 7);
    CHECK(run->granted_ago == Millis{8000});
    CHECK(run->waited == Millis{250});
    CHECK(run->held == Millis{3000});
    CHECK(run->ended_ago() == Millis{5000});
  }
}

TEST_CASE("a run for a slot says which, and the how many-th it is") {
  const std::string line =
      "7\tu@h:1/x#1\t1000\t" + store::fields_of_claim(Millis{0}, "2026-11-24") + "\t2";
  CHECK(run_in(line, now, true)->slot == "2026-11-24");
  CHECK(run_in(line, now, true)->attempt == 2);
  CHECK(run_in(begun, now, true)->slot.empty());
  CHECK(run_in(begun, now, true)->attempt == 0);
}

TEST_CASE("without an end it goes on if its token has the lock, and is lost otherwise") {
  CHECK(run_in(begun, now, true)->outcome.kind == Kind::running);
  CHECK(run_in(begun, now, false)->outcome.kind == Kind::lost);
  CHECK_FALSE(run_in(begun, now, false)->held);
  CHECK_FALSE(run_in(begun, now, false)->ended_ago());
}

TEST_CASE("an end counts for any holder: --min-hold keeps the lock") {
  CHECK(run_in(begun + "\t4000\texited 0\t", now, true)->outcome.kind == Kind::exited);
}

TEST_CASE("a clock that was set back makes no negative times") {
  const auto later = run_in(begun + "\t4000\texited 0\t", 500, false);
  CHECK(later->granted_ago == Millis{0});
  CHECK(later->ended_ago() == Millis{0});
  const auto backwards = run_in(begun + "\t400\texited 0\t", now, false);
  CHECK(backwards->held == Millis{0});
}

TEST_CASE("fields of a later version are passed over") {
  CHECK(run_in(begun + "\t4000\texited 2\twhy\tmore\tand more", now, false)->why == "why");
}

TEST_CASE("a line that no rlock wrote is no run") {
  for (const std::string line :
       {"", "x", "7", "7\tt\t1000\t250\t", "-7\tt\t1000\t250\t\t", "7\tt\tx\t250\t\t",
        "7\tt\t-1\t250\t\t", "7\tt\t1000\t\t\t", "7\tt\t9007199254740993\t250\t\t",
        "18446744073709551616\tt\t1000\t250\t\t"}) {
    CAPTURE(line);
    CHECK_FALSE(run_in(line, now, false));
  }
  for (const std::string end :
       {"\t4000\texited 0", "\tx\texited 0\t", "\t4000\t\t", "\t4000\tvanished 0\t",
        "\t4000\texited x\t", "\t4000\texited 99999999999\t"}) {
    CAPTURE(end);
    CHECK_FALSE(run_in(begun + end, now, false));
  }
  CHECK(run_in(begun + "\t4000\tlost\t", now, false)->outcome == store::RunOutcome{Kind::lost});
}

TEST_CASE("the reason of a run is the last field, before and after its end") {
  CHECK(run_in(begun, now, true)->reason.empty());
  const auto open = run_in(begun + "\tthe database moves", now, true);
  CHECK(open->reason == "the database moves");
  CHECK(open->outcome.kind == Kind::running);
  const auto ended = run_in(begun + "\t4000\texited 2\twhy\tthe database moves", now, false);
  CHECK(ended->reason == "the database moves");
  CHECK(ended->why == "why");
  CHECK_FALSE(run_in(begun + "\tone\ttwo", now, true));
}

TEST_CASE("why a run ended is one line, and has an end") {
  const auto fields =
      store::fields_of_end({{Kind::cancelled}, "two\nlines\tand a tab" + std::string(500, 'x')});
  CHECK(fields.starts_with("cancelled 0\ttwo\\nlines\\tand a tab"));
  CHECK(fields.size() < 400);
}

}  // namespace unit::store_runs
