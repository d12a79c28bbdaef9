// Acquiring one lock and several, on a store whose answers are set.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/log.hpp"
#include "fake_store.hpp"
#include "hold/acquire.hpp"

namespace unit::hold_acquire {

namespace {

using base::Millis;
using fake::Script;
using hold::GaveUp;
using store::Fault;
using Calls = std::vector<std::string>;

struct Run {
  Script script;
  std::vector<store::Claim> claims{fake::claim("a")};
  Millis wait{60'000};
  Millis grace{100};
  std::vector<store::Token> outer{};

  hold::Acquisition acquire() {
    base::log::set_level(base::log::Level::quiet);
    os::Signals signals;
    sigset_t before;
    auto result = hold::acquire([this] { return std::make_unique<fake::Store>(script); },
                                {claims, wait, grace, Millis{5'000}, outer}, signals);
    ::sigprocmask(SIG_SETMASK, &signals.inherited_mask(), &before);
    base::log::set_level(base::log::Level::normal);
    return result;
  }
  hold::NotAcquired refused() {
    auto result = acquire();
    REQUIRE(std::holds_alternative<hold::NotAcquired>(result));
    return std::get<hold::NotAcquired>(std::move(result));
  }
  hold::HeldLocks held() {
    auto result = acquire();
    REQUIRE(std::holds_alternative<hold::HeldLocks>(result));
    return std::get<hold::HeldLocks>(std::move(result));
  }
  void answer(store::Attempt attempt) {
    script.attempts.emplace_back([attempt](const store::Claim&) { return attempt; });
  }
  void grant() { script.attempts.emplace_back(fake::Store::granted); }
  void turn(store::Turn turn) {
    script.turns.emplace_back([turn](const os::CallLimit&) { return turn; });
  }
  void one_attempt() {
    wait = Millis{0};
    claims.front().on_busy = store::OnBusy::give_up;
  }
};

store::Holder holder(const std::string& token) {
  return {store::Holder::Kind::holder, token, std::nullopt, std::nullopt};
}
Fault silent() {
  return {Fault::Kind::silent, "no answer"};
}
store::Notice stop() {
  return {store::Notice::Kind::stop, "cancelled by ann", "reply"};
}
store::Notice lost() {
  return {store::Notice::Kind::lost, "force-released by ann", "reply"};
}

}  // namespace

TEST_CASE("a grant is held, and released at its end") {
  Run run;
  {
    const auto locks = run.held();
    CHECK(locks.leases().front().fence == 7);
    CHECK(run.script.calls == Calls{"acquire a"});
  }
  CHECK(run.script.calls == Calls{"acquire a", "release a"});
}

TEST_CASE("a single attempt gives up where another holds the lock") {
  Run run;
  run.one_attempt();
  run.answer(store::Busy{holder("ann"), 2});
  const auto gave_up = std::get<GaveUp>(run.refused());
  CHECK(gave_up.why == GaveUp::Why::busy);
  CHECK(gave_up.holder->token == "ann");
  CHECK(gave_up.others == 2);
  CHECK(run.script.calls == Calls{"acquire a"});
}

TEST_CASE("a busy answer that names no holder is withdrawn, as some of it may be ours") {
  Run run;
  run.answer(store::Busy{std::nullopt, 0});
  CHECK(std::get<GaveUp>(run.refused()).why == GaveUp::Why::crowded);
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
}

TEST_CASE("a lock that a run around us holds is not waited for") {
  for (const bool queued : {false, true}) {
    Run run;
    run.outer = {store::Token::foreign("outer")};
    if (queued) {
      run.answer(store::Queued{holder("outer"), 0, std::nullopt});
    } else {
      run.answer(store::Busy{holder("outer"), 0});
    }
    CHECK(std::get<GaveUp>(run.refused()).why == GaveUp::Why::nested);
    CHECK(run.script.count("await a") == 0);
  }
  Run run;  // another holder may make room
  run.outer = {store::Token::foreign("outer")};
  auto several = holder("outer");
  several.others = 1;
  run.answer(store::Queued{several, 0, std::nullopt});
  CHECK(run.held().leases().size() == 1);
}

TEST_CASE("a queued claim waits for its turn and claims again") {
  Run run;
  run.answer(store::Queued{holder("ann"), 1, std::nullopt});
  run.turn(store::StillWaiting{});
  run.turn(store::ClaimAgain{});
  CHECK(run.held().leases().size() == 1);
  CHECK(run.script.calls == Calls{"acquire a", "await a", "await a", "acquire a", "release a"});
}

TEST_CASE("a wait that is over leaves the queue") {
  Run run;
  run.wait = Millis{1};
  run.answer(store::Queued{holder("ann"), 3, std::nullopt});
  run.script.turns.emplace_back([](const os::CallLimit& limit) -> store::Turn {
    os::wait_any({}, limit.until);
    return store::StillWaiting{};
  });
  const auto gave_up = std::get<GaveUp>(run.refused());
  CHECK(gave_up.why == GaveUp::Why::timed_out);
  CHECK(gave_up.others == 3);
  CHECK(run.script.calls.back() == "withdraw a");
}

TEST_CASE("users of a key who want it in another way are told, and nothing is left") {
  Run run;
  run.answer(store::ModeConflict{{}, store::Token::foreign("ann")});
  CHECK(std::holds_alternative<hold::Incompatible>(run.refused()));
  CHECK(run.script.calls.back() == "withdraw a");
}

TEST_CASE("a waiter that is told to stop withdraws and says so") {
  Run run;
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.turn(stop());
  CHECK(std::get<hold::Dismissed>(run.refused()).why == "cancelled by ann");
  CHECK(run.script.calls == Calls{"acquire a", "await a", "withdraw a", "confirm a"});
}

TEST_CASE("a waiter whose reservation was taken away claims again") {
  Run run;
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.turn(lost());
  CHECK(run.held().leases().size() == 1);
  CHECK(run.script.calls == Calls{"acquire a", "await a", "confirm a", "acquire a", "release a"});
}

TEST_CASE("what will not help to ask again is withdrawn at once") {
  for (const auto kind : {Fault::Kind::denied, Fault::Kind::unusable}) {
    Run run;
    run.answer(Fault{kind, "no"});
    CHECK(std::get<Fault>(run.refused()).kind == kind);
    CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
  }
}

TEST_CASE("a single attempt asks once more after a lost answer, and no more") {
  Run run;
  run.one_attempt();
  run.answer(silent());
  run.answer(silent());
  CHECK(std::get<Fault>(run.refused()).kind == Fault::Kind::silent);
  CHECK(run.script.calls == Calls{"acquire a", "acquire a", "withdraw a"});
  CHECK(run.script.tokens[0] == run.script.tokens[1]);

  Run unreachable;
  unreachable.one_attempt();
  unreachable.answer(Fault{Fault::Kind::unreachable, "refused"});
  CHECK(std::get<Fault>(unreachable.refused()).kind == Fault::Kind::unreachable);
  CHECK(unreachable.script.calls == Calls{"acquire a", "withdraw a"});
}

TEST_CASE("a wait outlasts faults, until it is over") {
  Run run;
  run.answer(silent());
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.turn(silent());
  CHECK(run.held().leases().size() == 1);

  Run over;
  over.wait = Millis{1};
  for (int i = 0; i < 9; ++i) over.answer(silent());
  CHECK(std::get<Fault>(over.refused()).kind == Fault::Kind::silent);
  CHECK(over.script.calls.back() == "withdraw a");
}

TEST_CASE("a grant that came too late is withdrawn, and claimed anew with another token") {
  Run run;
  run.script.attempts.emplace_back([](const store::Claim& claim) -> store::Attempt {
    const auto long_ago = base::now() - Millis{40'000};
    return store::Granted{
        {claim.name, claim.token, claim.ttl, store::validity(long_ago, claim.ttl), 6, long_ago}};
  });
  CHECK(run.held().leases().front().fence == 7);
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a", "acquire a", "release a"});
  CHECK(run.script.tokens[0] != run.script.tokens[1]);
}

TEST_CASE("a grant with a flaw is withdrawn, and claimed anew") {
  Run run;
  run.script.attempts.emplace_back([](const store::Claim& claim) -> store::Attempt {
    auto granted = std::get<store::Granted>(fake::Store::granted(claim));
    granted.flaw = "no replica has it";
    return granted;
  });
  CHECK(run.held().leases().size() == 1);
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a", "acquire a", "release a"});
}

TEST_CASE("a server that gives shorter leases than the grace is of no use") {
  Run run;
  run.grace = Millis{5'000};
  run.script.attempts.emplace_back([](const store::Claim& claim) -> store::Attempt {
    const auto short_ttl = *store::Ttl::from(Millis{1'000});
    const auto now = base::now();
    return store::Granted{
        {claim.name, claim.token, short_ttl, store::validity(now, short_ttl), 6, now}};
  });
  CHECK(std::get<Fault>(run.refused()).kind == Fault::Kind::unusable);
  CHECK(run.script.calls.back() == "withdraw a");
}

TEST_CASE("a deadly signal ends the wait") {
  Run run;
  run.answer(store::Queued{holder("ann"), 0, std::nullopt});
  run.script.turns.emplace_back([](const os::CallLimit&) -> store::Turn {
    ::raise(SIGWINCH);  // which does not
    return store::StillWaiting{};
  });
  run.script.turns.emplace_back([](const os::CallLimit&) -> store::Turn {
    ::raise(SIGTERM);
    return store::StillWaiting{};
  });
  CHECK(std::get<hold::Interrupted>(run.refused()).signal == SIGTERM);
  CHECK(run.script.calls == Calls{"acquire a", "await a", "await a", "withdraw a"});
}

TEST_CASE("a signal that does not concern us and cut a question short does not count as a fault") {
  Run run;
  run.one_attempt();
  run.script.attempts.emplace_back([](const store::Claim&) -> store::Attempt {
    ::raise(SIGCONT);
    return silent();
  });
  run.answer(silent());
  run.grant();
  CHECK(run.held().leases().size() == 1);
}

// ---- several keys ----------------------------------------------------------------------------

TEST_CASE("all locks are taken in order, or none") {
  Run run;
  run.claims = {fake::claim("a"), fake::claim("b")};
  CHECK(run.held().leases().size() == 2);
  CHECK(run.script.calls == Calls{"acquire a", "acquire b", "release a", "release b"});

  Run busy;
  busy.claims = {fake::claim("a"), fake::claim("b")};
  busy.grant();
  busy.answer(store::Busy{holder("ann"), 0});
  CHECK(std::get<GaveUp>(busy.refused()).name.text() == "b");
  CHECK(busy.script.calls == Calls{"acquire a", "acquire b", "release a"});
}

TEST_CASE("a token that is exhausted for one key is renewed for all") {
  Run run;
  run.claims = {fake::claim("a"), fake::claim("b")};
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
  Run run;
  run.claims = {fake::claim("a"), fake::claim("b")};
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
  Run run;
  run.claims = {fake::claim("a"), fake::claim("b")};
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
  Run run;
  run.claims = {fake::claim("a"), fake::claim("b")};
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

}  // namespace unit::hold_acquire
