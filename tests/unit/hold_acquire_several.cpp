// Acquiring several locks, on a store whose answers are set.
#include <doctest/doctest.h>

#include <csignal>

#include "fake_run.hpp"

namespace unit::hold_acquire_several {

namespace {

using base::Deadline;
using base::Millis;
using fake::Calls;
using fake::holder;
using fake::lost;
using fake::Run;
using fake::silent;
using fake::stop;
using hold::GaveUp;
using store::Fault;

}  // namespace

TEST_CASE("all locks are taken in order, or none") {
  Run run = Run::of_two();
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "release a", "release b"});

  Run busy = Run::of_two();
  busy.grant();
  busy.answer(store::Busy{holder("ann"), 0});
  CHECK(std::get<GaveUp>(busy.refused()).name.text() == "b");
  CHECK(busy.script.calls == Calls{"acquire a", "acquire b", "release a"});
}

TEST_CASE("a token that is exhausted for one key is renewed for all") {
  Run run = Run::of_two();
  run.grant();
  run.answer(store::TokenExhausted{"taken back"});
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "withdraw b", "release a", "acquire a",
                                  "acquire b", "release a", "release b"});
  CHECK(run.script.tokens[0] != run.script.tokens[2]);
  CHECK(run.script.tokens[2] == run.script.tokens[3]);

  Run over;
  over.wait = Millis{0};
  over.answer(store::TokenExhausted{"taken back"});
  CHECK(std::get<Fault>(over.refused()).why ==
        "a lock was lost while another was asked for: taken back");
}

TEST_CASE("a run that waits for the second lock listens for the first before it waits") {
  Run run = Run::of_two();
  run.grant();
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.turns.emplace_back([&](const os::CallLimit& limit) -> store::Turn {
    run.script.post(stop());
    CHECK(os::wait_for(-1, os::Want::read, limit) == os::Ready::interrupted);
    return store::StillWaiting{};
  });
  const auto dismissed = std::get<hold::Dismissed>(run.refused());
  CHECK(dismissed.name.text() == "a");
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "listen a", "await b", "withdraw b",
                                  "release a", "confirm a"});
}

TEST_CASE(
    "if the first lock is taken away meanwhile, that is confirmed and all is asked for anew") {
  Run run = Run::of_two();
  run.grant();
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.turns.emplace_back([&](const os::CallLimit&) -> store::Turn {
    run.script.post(lost());
    return store::StillWaiting{};
  });
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "listen a", "await b", "withdraw b",
                                  "confirm a", "acquire a", "acquire b", "release a", "release b"});
}

TEST_CASE("a notice about the first lock that comes with the grant of the last is heard") {
  Run run = Run::of_two();
  run.grant();
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.turn(store::ClaimAgain{});
  run.script.attempts.emplace_back([&](const store::Claim& claim) {
    run.script.post(stop());
    return fake::Store::granted(claim);
  });
  CHECK(std::get<hold::Dismissed>(run.refused()).name.text() == "a");
  CHECK(run.script.calls.back() == "release b");
  CHECK(run.script.count("confirm a") == 1);
}

TEST_CASE("the first lock is refreshed while the second is waited for") {
  Run run;
  run.claims = {fake::claim("a", Millis{150}), fake::claim("b")};
  run.grace = Millis{10};
  run.grant();
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.turns.emplace_back([](const os::CallLimit& limit) -> store::Turn {
    os::wait_any({}, limit.until);
    return store::StillWaiting{};
  });
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.count("renew a") >= 1);
}

// ---- the refresh of the first, which is due when half of its 30 s are over
// -----------------------

TEST_CASE("a refresh that is due is made before the second lock is waited for") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "listen a", "await b",
                                  "acquire b", "release a", "release b"});
}

TEST_CASE("if the first lock turns out to be lost, all is asked for anew with another token") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.renewals = {store::NotOurs{"expired"}};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "withdraw b", "acquire a",
                                  "acquire b", "release a", "release b"});
  REQUIRE(run.script.tokens.size() == 4);
  CHECK(run.script.tokens[2] != run.script.tokens[0]);
}

TEST_CASE("if the first lock cannot be refreshed in time, it is given back and asked for anew") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.renewals = {store::Renewed{Deadline::at(base::now()), base::now()}};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "withdraw b", "release a",
                                  "acquire a", "acquire b", "release a", "release b"});
}

TEST_CASE("once the wait is over, a lock that was lost meanwhile is not asked for again") {
  Run run = Run::of_two();
  run.wait = Millis{0};
  run.grant_after(Millis{15'000});
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.renewals = {store::Renewed{Deadline::at(base::now()), base::now()}};
  const auto fault = std::get<Fault>(run.refused());
  CHECK(fault.kind == Fault::Kind::silent);
  CHECK(fault.why ==
        "a lock was lost while another was asked for: its lease could not be refreshed in time");
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "withdraw b", "release a"});
}

TEST_CASE("a deadly signal during the refresh of the first lock ends the wait for the second") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.at_call = [](const std::string& call) {
    if (call == "renew a") ::raise(SIGTERM);
  };
  CHECK(std::get<hold::Interrupted>(run.refused()).signal == SIGTERM);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "withdraw b", "release a"});
}

TEST_CASE("the first lock is looked after between two questions for the second") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.script.attempts.emplace_back([&](const store::Claim&) -> store::Attempt {
    run.script.post(stop());
    return silent();
  });
  CHECK(std::get<hold::Dismissed>(run.refused()).name.text() == "a");
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "listen a", "withdraw b",
                                  "release a", "confirm a"});
}

// ---- with the last lock in hand ---------------------------------------------------------------

TEST_CASE("a refresh that is due when the last lock is granted comes before the job") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  const auto locks = run.held();
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a"});
  CHECK(locks.due() > Deadline::after(base::now(), Millis{1'000}));
}

TEST_CASE("a refresh that fails then does no harm while enough of the lease is left") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.script.renewals = {silent()};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "release a", "release b"});
}

TEST_CASE("a first lock that is lost by then is asked for anew, and so is the last") {
  Run run = Run::of_two();
  run.grant_after(Millis{15'000});
  run.script.renewals = {store::NotOurs{"expired"}};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "release b", "acquire a",
                                  "acquire b", "release a", "release b"});
}

TEST_CASE("less than a grace of the first lease is not enough for a job") {
  Run run = Run::of_two();
  run.grace = Millis{10'000};
  run.grant_after(Millis{15'000});
  const auto now = base::now();
  run.script.renewals = {store::Renewed{Deadline::after(now, Millis{9'000}), now}};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "renew a", "release a", "release b",
                                  "acquire a", "acquire b", "release a", "release b"});
}

TEST_CASE("if the first lock is taken away as the last is granted, all is asked for anew") {
  Run run = Run::of_two();
  run.grant();
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.attempts.emplace_back([&](const store::Claim& claim) {
    run.script.post(lost());
    return fake::Store::granted(claim);
  });
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "listen a", "await b", "acquire b",
                                  "confirm a", "release b", "acquire a", "acquire b", "release a",
                                  "release b"});
}

// ---- a token that names the holder of all ------------------------------------------------------

TEST_CASE(
    "a grant that cannot be used makes a token that stays, and with it all locks, begin anew") {
  for (const bool flawed : {false, true}) {
    CAPTURE(flawed);
    for (const bool over : {false, true}) {
      Run run = Run::of_two();
      for (auto& claim : run.claims) claim.token_stays = true;
      if (over) run.wait = Millis{0};
      run.grant();
      if (flawed) {
        run.script.attempts.emplace_back([](const store::Claim& claim) -> store::Attempt {
          auto granted = std::get<store::Granted>(fake::Store::granted(claim));
          granted.flaw = "no replica has it";
          return granted;
        });
      } else {
        run.grant_after(Millis{40'000});
      }
      const Calls given_back{"acquire a", "acquire b", "withdraw b", "release a"};
      if (over) {
        CHECK(std::get<Fault>(run.refused()).why ==
              std::string{"a lock was lost while another was asked for: "} +
                  (flawed ? "no replica has it" : "a grant came too late"));
        CHECK(run.script.calls == given_back);
        continue;
      }
      CHECK(run.held().leases().size() == 2);
      REQUIRE(run.script.tokens.size() == 4);
      CHECK(Calls{run.script.calls.begin(), run.script.calls.begin() + 4} == given_back);
      CHECK(run.script.tokens[2] != run.script.tokens[0]);
      CHECK(run.script.tokens[3] == run.script.tokens[2]);
    }
  }
}

}  // namespace unit::hold_acquire_several
