// A run inside a job: which locks the runs around it hold, and whether they still do.
#include "cmd/nested.hpp"

#include <doctest/doctest.h>

#include "surroundings.hpp"

namespace unit::cmd_nested {

using base::Millis;
using Words = std::vector<std::string>;

namespace {

cmd::ClaimPlan plan_of(const Words& options) {
  return cmd::resolve_claim(settings_of(options), *store::Ttl::from(Millis{30'000}),
                            *store::Label::from("job.sh"));
}

/// Locks in a directory, and a run that holds one of them and has told its job so.
struct Outer {
  Surroundings around;
  cmd::ClaimPlan plan = plan_of({"-S", "file://" + around / "locks", "-k", "deploy"});
  store::Claim claim = plan.claims().front();
  std::unique_ptr<store::LockStore> store = plan.open_store();
  store::Fence fence = 0;

  Outer() {
    auto attempt = store->try_acquire(claim, plan.server.limit());
    const auto* granted = std::get_if<store::Granted>(&attempt);
    REQUIRE(granted != nullptr);
    fence = granted->lease.fence;
    tell_job(fence);
  }
  void tell_job(store::Fence number) const {
    around.set("RLOCK_HOLDS",
               fmt::format("{}\t{}\tdeploy\t{}", claim.token.text(), plan.server.shown, number));
  }
  void release() const { store->withdraw(claim, plan.server.limit()); }
};

}  // namespace

TEST_CASE("a lock of a run around us is told by its key and its server, the innermost run's") {
  const Surroundings around;
  const Words server{"-S", "redis://u:pw@h"};
  const auto outer = [&](Words options) {
    options.insert(options.begin(), server.begin(), server.end());
    return cmd::outer_locks(plan_of(options));
  };
  CHECK(outer({"-k", "deploy"}).keys.empty());
  CHECK_FALSE(outer({"-k", "deploy"}).all);
  around.set("RLOCK_HOLDS",
             "a#1\tredis://h\tdeploy\t3\nb#2\tredis://h\tdeploy\t4\nc#3\tredis://other\tx\t5\n"
             "d#4\tredis://h\ty\\nz\t6");
  const auto one = outer({"-k", "deploy"});
  REQUIRE(one.holds.size() == 1);
  CHECK(one.all);
  CHECK(one.holds[0].token.text() == "b#2");
  CHECK(one.holds[0].fence == 4);
  CHECK(outer({"-k", "x"}).keys.empty());  // on another server
  CHECK(outer({"-k", "y\nz"}).all);
  const auto some = outer({"-k", "deploy", "-k", "x"});
  CHECK_FALSE(some.all);
  CHECK(some.keys == std::vector{*store::LockName::from("deploy")});
}

TEST_CASE("a wait for any run around us is a wait for itself, whatever that run holds") {
  const Surroundings around;
  CHECK(cmd::outer_tokens().empty());
  around.set("RLOCK_HOLDS", "a#1\tredis://h\tdeploy\t3\nc#3\tredis://other\tx\t5");
  CHECK(cmd::outer_tokens() ==
        std::vector{store::Token::foreign("a#1"), store::Token::foreign("c#3")});
}

TEST_CASE("a lock that the outer run still holds is leased from it, with the fence of its job") {
  const Outer outer;
  const auto leases_of = [&] {
    auto verified = cmd::verify(cmd::outer_locks(outer.plan), outer.plan);
    REQUIRE(std::holds_alternative<std::vector<store::Lease>>(verified));
    return std::get<std::vector<store::Lease>>(verified);
  };
  REQUIRE(leases_of().size() == 1);
  CHECK(leases_of()[0].name == outer.claim.name);
  CHECK(leases_of()[0].token == outer.claim.token);
  CHECK(leases_of()[0].fence == outer.fence);
  outer.tell_job(outer.fence + 5);
  CHECK(leases_of()[0].fence == outer.fence + 5);
  outer.tell_job(0);  // an rlock that said nothing of it
  CHECK(leases_of()[0].fence == outer.fence);
  CHECK(cmd::any_still_held(cmd::outer_locks(outer.plan), outer.plan));
  outer.release();
}

TEST_CASE("a lock that the outer run has lost is said, with whose it is now") {
  const Outer outer;
  const auto locks = cmd::outer_locks(outer.plan);
  const auto lost = [&] {
    const Said said;
    const auto verified = cmd::verify(locks, outer.plan);
    REQUIRE(std::holds_alternative<int>(verified));
    CHECK(std::get<int>(verified) == cmd::ExitCode::lost);
    return said.text();
  };
  outer.release();
  const std::string line = "rlock: " + outer.claim.token.shown() +
                           ", the run around this one, no longer holds 'deploy': it is ";
  CHECK(lost() == line + "free\n");
  const auto other = outer.plan.claims().front();
  const auto store = outer.plan.open_store();
  REQUIRE(
      std::holds_alternative<store::Granted>(store->try_acquire(other, outer.plan.server.limit())));
  CHECK(lost().starts_with(line + "held by " + other.token.shown()));
  CHECK_FALSE(cmd::any_still_held(locks, outer.plan));
  store->withdraw(other, outer.plan.server.limit());
}

TEST_CASE("a server that does not answer is said, and no proof that the lock is held") {
  const Surroundings around;
  const auto plan = plan_of({"-S", "unix://" + around / "no.sock", "-k", "deploy"});
  around.set("RLOCK_HOLDS", "a#1\t" + plan.server.shown + "\tdeploy\t3");
  const auto locks = cmd::outer_locks(plan);
  REQUIRE(locks.all);
  const Said said;
  const auto verified = cmd::verify(locks, plan);
  REQUIRE(std::holds_alternative<int>(verified));
  CHECK(std::get<int>(verified) == cmd::ExitCode::unreachable);
  CHECK(said.text().starts_with("rlock: cannot reach " + plan.server.shown + ": "));
  CHECK_FALSE(cmd::any_still_held(locks, plan));
}

TEST_CASE("a run that would wait for itself says what to do instead") {
  const Outer outer;
  const Said said;
  cmd::report_nested(cmd::outer_locks(outer.plan));
  CHECK(said.text().starts_with("rlock: 'deploy' is held by " + outer.claim.token.shown() +
                                ", the run around this command, which would wait for itself; "));
  CHECK(said.text().ends_with("; to run under that lock: --reentrant\n"));
  outer.release();
}

}  // namespace unit::cmd_nested
