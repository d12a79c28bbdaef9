// Acquiring one lock, on a store whose answers are set.
#include <doctest/doctest.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "fake_run.hpp"

namespace unit::hold_acquire {

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

TEST_CASE("a fault that another try cannot mend withdraws the claim at once") {
  for (const auto kind : {Fault::Kind::denied, Fault::Kind::unusable, Fault::Kind::misconfigured}) {
    Run run;
    run.answer(Fault{kind, "no"});
    CHECK(std::get<Fault>(run.refused()).kind == kind);
    CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
  }
}

TEST_CASE("a single attempt asks once more after a lost answer, not twice") {
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

TEST_CASE("a single attempt whose time is over does not ask again, and says how long it took") {
  Run run;
  run.one_attempt();
  run.longest_answer = Millis{20};
  run.script.attempts.emplace_back([&](const store::Claim&) -> store::Attempt {
    os::wait_any({}, run.script.dues.back());
    return silent();
  });
  CHECK(std::get<Fault>(run.refused()).why.starts_with("no answer ("));
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
}

TEST_CASE("both questions of a single attempt have the time of one") {
  Run run;
  run.one_attempt();
  const auto before = base::now();
  run.answer(silent());
  CHECK(run.held().leases().size() == 1);
  REQUIRE(run.script.dues.size() == 2);
  CHECK(run.script.dues[0] >= Deadline::after(before, Millis{5'000}));
  CHECK(run.script.dues[1] == run.script.dues[0]);
}

TEST_CASE("a question has the time of an answer, of the lease, and of what is left of the wait") {
  struct Row {
    int longest_answer;
    int ttl;
    int wait;
    int expected;
  };
  for (const auto& [longest_answer, ttl, wait, expected] :
       {Row{5'000, 30'000, 60'000, 5'000}, Row{5'000, 3'000, 60'000, 3'000},
        Row{5'000, 150, 60'000, 1'000},  // whatever the lease, a second
        Row{500, 150, 60'000, 500}, Row{5'000, 30'000, 2'000, 2'000},
        Row{5'000, 30'000, 0, 1'000},  // whatever is left of the wait, a second
        Row{500, 30'000, 0, 500}}) {
    CAPTURE(longest_answer);
    CAPTURE(ttl);
    CAPTURE(wait);
    Run run;
    run.claims = {fake::claim("a", Millis{ttl})};
    run.grace = Millis{1};
    run.wait = Millis{wait};
    run.longest_answer = Millis{longest_answer};
    const auto before = base::now();
    auto asked_by = before;
    run.script.at_call = [&](const std::string& call) {
      if (call == "acquire a") asked_by = base::now();
    };
    (void)run.acquire();
    CHECK(run.script.dues.front() >= Deadline::after(before, Millis{expected}));
    CHECK(run.script.dues.front() <= Deadline::after(asked_by, Millis{expected}));
  }
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
  run.grant_after(Millis{40'000});
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

TEST_CASE("a grant that came too late for a single attempt is asked for once more") {
  Run run;
  run.one_attempt();
  run.grant_after(Millis{40'000});
  run.grant_after(Millis{40'000});
  const auto fault = std::get<Fault>(run.refused());
  CHECK(fault.kind == Fault::Kind::silent);
  CHECK(fault.why == "the grant of a lease of 30s came too late to be used");
  CHECK(run.script.count("acquire a") == 2);
  CHECK(run.script.calls.back() == "withdraw a");
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

TEST_CASE("a deadly signal that comes with the grant gives the lock back") {
  Run run;
  run.script.attempts.emplace_back([](const store::Claim& claim) {
    ::raise(SIGINT);
    return fake::Store::granted(claim);
  });
  CHECK(std::get<hold::Interrupted>(run.refused()).signal == SIGINT);
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
}

TEST_CASE("a deadly signal ends the pause between two questions") {
  Run run;
  run.script.attempts.emplace_back([](const store::Claim&) -> store::Attempt {
    const itimerval in_5_ms{{}, {0, 5'000}};
    ::setitimer(ITIMER_REAL, &in_5_ms, nullptr);
    return silent();
  });
  CHECK(std::get<hold::Interrupted>(run.refused()).signal == SIGALRM);
  CHECK(run.script.calls == Calls{"acquire a", "withdraw a"});
}

TEST_CASE("a stop of the terminal stops the waiting run as it would any program") {
  static volatile std::sig_atomic_t stopped = 0;
  struct sigaction in_place_of_the_stop {};
  struct sigaction before {};
  in_place_of_the_stop.sa_handler = [](int number) { stopped = number; };
  for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    Run run;
    run.answer(store::Queued{holder("ann"), 0, std::nullopt});
    run.script.turns.emplace_back([&](const os::CallLimit&) -> store::Turn {
      ::raise(number);
      CHECK(stopped != number);
      return store::StillWaiting{};
    });
    run.script.turns.emplace_back([&](const os::CallLimit&) -> store::Turn {
      CHECK(stopped == number);
      return store::ClaimAgain{};
    });
    ::sigaction(number, &in_place_of_the_stop, &before);
    CHECK(run.held().leases().size() == 1);
    ::sigaction(number, &before, nullptr);
    CHECK(run.script.calls == Calls{"acquire a", "await a", "await a", "acquire a", "release a"});
  }
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

}  // namespace unit::hold_acquire
