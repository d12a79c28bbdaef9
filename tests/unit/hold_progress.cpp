// How a holder is described, and what a job is told.
#include "hold/progress.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "hold/environment.hpp"

namespace unit::hold_progress {

namespace {

using base::Millis;
using Kind = store::Holder::Kind;

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

TEST_CASE("a job is told its key and fence, and of all locks around it") {
  ::setenv("RLOCK_HOLDS", "bob#1\tredis://h\ta\t3", 1);
  ::setenv("RLOCK_KEY", "old", 1);
  ::setenv("RLOCK_SERVER", "redis://old", 1);
  const auto one = hold::job_environment({lease("b", 4)}, "redis://h", std::nullopt);
  CHECK(has(one, "RLOCK_KEY=b"));
  CHECK(has(one, "RLOCK_FENCE=4"));
  CHECK(has(one, "RLOCK_HELD=1"));
  CHECK(has(one, "RLOCK_TOKEN=ann#1"));
  CHECK(has(one, "RLOCK_SERVER=redis://old"));
  CHECK_FALSE(has(one, "RLOCK_KEY=old"));
  CHECK(has(one, "RLOCK_HOLDS=bob#1\tredis://h\ta\t3\nann#1\tredis://h\tb\t4"));

  const auto two = hold::job_environment({lease("b", 4), lease("c", 5)}, "redis://h", "redis://n");
  CHECK(has(two, "RLOCK_FENCES=b=4\nc=5"));
  CHECK(has(two, "RLOCK_SERVER=redis://n"));
  CHECK_FALSE(has(two, "RLOCK_SERVER=redis://old"));

  ::setenv("RLOCK_HOLDS", "ann#1\tredis://h\tb\t4", 1);  // reentrant: told once
  CHECK(has(hold::job_environment({lease("b", 4)}, "redis://h", std::nullopt),
            "RLOCK_HOLDS=ann#1\tredis://h\tb\t4"));
  for (const char* name : {"RLOCK_HOLDS", "RLOCK_KEY", "RLOCK_SERVER"}) ::unsetenv(name);
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
