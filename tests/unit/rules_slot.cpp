// The changes of a slot: each state, and each event of a run for it.
#include "store/rules/slot.hpp"

#include <doctest/doctest.h>

namespace unit::rules_slot {
namespace {

using namespace store;
using namespace store::rules;
using State = SlotState::Kind;
using End = Parting::SlotEnd;
using Kind = RunOutcome::Kind;

const SlotState none{};

SlotState open(unsigned attempt, unsigned failures, std::string token = {}) {
  return {State::open, {attempt, failures}, std::move(token)};
}
SlotState running(unsigned attempt, unsigned failures, std::string token, std::string before = {}) {
  return {State::running, {attempt, failures}, std::move(token), std::move(before)};
}
SlotState done(unsigned attempt, unsigned failures, std::string token, int code = 9) {
  return {State::done, {attempt, failures}, std::move(token), {}, {Kind::exited, code}, 7, 50};
}

/// The run of `a`, with one retry, ended with code 9.
EndOfRun end(End how, unsigned attempt, unsigned failures, std::string token = "a") {
  return {std::move(token), {attempt, failures}, how, 1, {Kind::exited, 9}, 7, 50};
}

}  // namespace

TEST_CASE("a run for a slot has the next number, and a claim that is heard again the same one") {
  CHECK(next_run(none, "a") == RunNumber{1, 0});
  CHECK(next_run(open(1, 1, "b"), "a") == RunNumber{2, 1});
  CHECK(next_run(open(1, 1), "a") == RunNumber{2, 1});
  CHECK(next_run(open(1, 1, "a"), "a") == RunNumber{1, 1});  // late: its end was heard
  CHECK(next_run(running(2, 0, "a"), "a") == RunNumber{2, 0});
  CHECK(next_run(running(2, 0, "b"), "a") == RunNumber{3, 0});  // that of b was lost
}

TEST_CASE("a run that begins keeps the token of the one before it, whose end was heard") {
  CHECK(with_run(none, "a", {1, 0}) == running(1, 0, "a"));
  CHECK(with_run(open(1, 1, "b"), "a", {2, 1}) == running(2, 1, "a", "b"));
  CHECK(with_run(open(1, 1), "a", {2, 1}) == running(2, 1, "a"));
  CHECK(with_run(running(2, 1, "a", "b"), "a", {2, 1}) == running(2, 1, "a", "b"));
  CHECK(with_run(running(2, 1, "b", "c"), "a", {3, 1}) == running(3, 1, "a"));
  // A server of a quorum is told the number that its majority has.
  CHECK(with_run(running(2, 1, "a"), "a", {5, 0}) == running(5, 1, "a"));
  CHECK(with_run(none, "a", {5, 4}) == running(5, 4, "a"));
}

TEST_CASE("a run that never was leaves the slot as it was before") {
  CHECK(without_run(running(1, 0, "a"), "a") == none);
  CHECK(without_run(running(2, 1, "a", "b"), "a") == open(1, 1, "b"));
  CHECK(without_run(running(2, 1, "a"), "a") == open(1, 1));
  CHECK(without_run(running(1, 1, "a", "a"), "a") == open(1, 1, "a"));  // its end was heard
  for (const auto& others : {none, open(1, 1, "a"), open(1, 1, "b"), running(2, 0, "b"),
                             running(2, 0, "b", "a"), done(1, 0, "a"), done(1, 0, "b")}) {
    CHECK(without_run(others, "a") == others);
  }
}

TEST_CASE("the state of a slot after each end of its run") {
  struct Row {
    const char* what;
    SlotState before;
    EndOfRun ended;
    SlotState after;
    Fence running = 0;  // that of `a` is 7
  };
  const Row rows[] = {
      {"done", running(1, 0, "a"), end(End::done, 1, 0), done(1, 0, "a")},
      {"left open", running(1, 0, "a"), end(End::open, 1, 0), open(1, 0, "a")},
      {"failed, one may", running(1, 0, "a"), end(End::failed, 1, 0), open(1, 1, "a")},
      {"failed, no more may", running(2, 1, "a"), end(End::failed, 2, 1), done(2, 1, "a")},
      {"left open after failures", running(2, 1, "a"), end(End::open, 2, 1), open(2, 1, "a")},

      {"the server has lost the slot: done", none, end(End::done, 3, 1), done(3, 1, "a")},
      {"the same: failed, one may", none, end(End::failed, 3, 0), open(3, 1, "a")},
      {"the same: failed, no more may", none, end(End::failed, 3, 1), done(3, 1, "a")},
      {"the server knows fewer failures", running(2, 0, "a"), end(End::failed, 2, 1),
       done(2, 1, "a")},
      {"the server knows more failures", running(2, 1, "a"), end(End::failed, 2, 0),
       done(2, 1, "a")},
      {"the server has another number", running(1, 0, "a"), end(End::done, 4, 1), done(4, 1, "a")},
      {"the same, higher", running(5, 0, "a"), end(End::done, 4, 1), done(4, 1, "a")},
      {"the server missed the grant", open(1, 1, "b"), end(End::failed, 2, 0), done(2, 1, "a")},
      {"the same; it knows one that was lost", running(1, 0, "b"), end(End::failed, 2, 0),
       open(2, 1, "a"), 6},
      {"the same; left open", running(1, 0, "b"), end(End::open, 2, 0), open(2, 0, "a"), 6},
      {"the same; its fence is not known", running(1, 0, "b"), end(End::open, 2, 0),
       open(2, 0, "a")},

      {"another goes on: failed, one may", running(3, 0, "b"), end(End::failed, 2, 0),
       running(3, 0, "b")},
      {"the same: left open", running(3, 0, "b"), end(End::open, 2, 0), running(3, 0, "b")},
      {"the same: done", running(3, 0, "b"), end(End::done, 2, 0), done(2, 0, "a")},
      {"the same: failed, no more may", running(3, 0, "b"), end(End::failed, 2, 1),
       done(2, 1, "a")},
      {"another knows of that failure", running(3, 1, "b"), end(End::failed, 2, 0),
       running(3, 1, "b")},
      {"another is later by its fence, too", running(3, 0, "b"), end(End::failed, 2, 0),
       running(3, 0, "b"), 8},
      {"counting began anew: left open", running(1, 0, "b"), end(End::open, 2, 1),
       running(3, 1, "b", "a"), 8},
      {"the same: failed, one may", running(1, 0, "b"), end(End::failed, 2, 0),
       running(3, 1, "b", "a"), 8},
      {"the same: it knows more failures", running(1, 3, "b"), end(End::failed, 2, 0),
       running(3, 3, "b", "a"), 8},
      {"the same: done", running(1, 0, "b"), end(End::done, 2, 1), done(2, 1, "a"), 8},
      {"two runs have one number: left open", running(2, 0, "b"), end(End::open, 2, 0),
       running(3, 0, "b", "a"), 8},
      {"the same: done", running(2, 0, "b"), end(End::done, 2, 0), done(2, 0, "a")},
      {"a later run has ended: failed", open(3, 1, "b"), end(End::failed, 2, 0), open(3, 1, "b")},
      {"the same: left open", open(3, 1, "b"), end(End::open, 2, 0), open(3, 1, "b")},
      {"the same: done", open(3, 1, "b"), end(End::done, 2, 0), done(2, 1, "a")},
      {"another run has done it", done(1, 0, "b", 0), end(End::failed, 2, 0), done(1, 0, "b", 0)},
      {"heard again: done", done(1, 0, "a"), end(End::done, 1, 0), done(1, 0, "a")},
      {"heard again: failed", open(1, 1, "a"), end(End::failed, 1, 0), open(1, 1, "a")},
      {"heard again after the next began", running(2, 1, "b", "a"), end(End::failed, 1, 0),
       running(2, 1, "b", "a")},
      {"heard again after its claim was", running(1, 1, "a", "a"), end(End::failed, 1, 0),
       open(1, 1, "a")},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(after_run(row.before, row.ended, row.running) == row.after);
    // Hearing an event twice never makes a difference.
    CHECK(after_run(row.after, row.ended, row.running) == row.after);
  }
}

TEST_CASE("an end that is heard again after a later claim was taken back uses up no retry") {
  const auto failed = after_run(running(1, 0, "a"), end(End::failed, 1, 0));
  const auto in_vain = without_run(with_run(failed, "b", next_run(failed, "b")), "b");
  CHECK(in_vain == failed);
  CHECK(after_run(in_vain, end(End::failed, 1, 0)) == failed);
}

TEST_CASE("a failure that came with a later claim, which was taken back, counts once") {
  // One server of a quorum missed the run and its end, and heard of both from the next one's claim.
  const auto told = without_run(with_run({}, "b", {2, 1}), "b");
  CHECK(told == open(1, 1));
  CHECK(after_run(told, end(End::failed, 1, 0)) == open(1, 1, "a"));
  // The failure before it is another run's.
  const auto third = without_run(with_run({}, "b", {3, 1}), "b");
  CHECK(after_run(third, end(End::failed, 2, 0)) == open(2, 1, "a"));
  // It did not hear of a failure, but of the run.
  const auto granted = without_run(with_run(running(1, 0, "a"), "b", {2, 0}), "b");
  CHECK(after_run(granted, end(End::failed, 1, 0)) == open(1, 1, "a"));
}

TEST_CASE(
    "a run that goes on as the end of a lost one is heard can still end, or turn out to be none") {
  const auto both = after_run(running(1, 0, "b"), end(End::failed, 2, 0), 8);
  CHECK(without_run(both, "b") == open(2, 1, "a"));
  CHECK(next_run(both, "b") == RunNumber{3, 1});
  CHECK(after_run(both, end(End::done, 1, 0, "b")) == done(1, 1, "b"));
  // Servers of a quorum hear late ends of runs that know of each other: no failure counts twice.
  CHECK(after_run(both, end(End::failed, 1, 0, "b")) == open(2, 1, "b"));
  CHECK(after_run(both, end(End::open, 1, 0, "b")) == open(2, 1, "b"));
}

TEST_CASE("a parting that has an end and a slot says how the run ended") {
  Parting parting{{}, Millis{1000}, RunEnd{{Kind::signalled, 9}}};
  parting.slot = {{"s", 3}, 2, 1, End::failed};
  const auto ended = end_of_run(Token::foreign("a"), parting, 7, 50);
  CHECK(ended.token == "a");
  CHECK(ended.number == RunNumber{2, 1});
  CHECK(ended.end == End::failed);
  CHECK(ended.retries == 3);
  CHECK(ended.outcome == RunOutcome{Kind::signalled, 9});
  CHECK(ended.fence == 7);
  CHECK(ended.now_ms == 50);
}

TEST_CASE("of two servers' numbers each counts where it is highest") {
  CHECK(higher_of({1, 4}, {3, 2}) == RunNumber{3, 4});
  const Lease lease{*LockName::from("k"),
                    Token::foreign("a"),
                    *Ttl::from(Millis{1'000}),
                    Deadline::never(),
                    7,
                    {},
                    2,
                    1};
  CHECK(number_of(lease) == RunNumber{2, 1});
}

TEST_CASE("a slot is remembered for --history, one that goes on for a day at least") {
  const Millis hour{3'600'000};
  CHECK(remembered_for(State::done, hour) == hour);
  CHECK(remembered_for(State::open, hour) == hour);
  CHECK(remembered_for(State::running, hour) == 24 * hour);
  CHECK(remembered_for(State::running, 48 * hour) == 48 * hour);
}

}  // namespace unit::rules_slot
