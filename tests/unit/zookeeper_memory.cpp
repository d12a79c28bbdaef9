// What ZooKeeper's nodes tell of runs and slots.
#include <doctest/doctest.h>

#include <algorithm>

#include "store/zookeeper/memory.hpp"

namespace unit::zookeeper_memory {
namespace {

using namespace store;
using namespace store::zookeeper;
using Kind = RunOutcome::Kind;

Token token(const std::string& digits) {
  return Token::foreign("app@web1:1/job#" + digits);
}

Claim claim(const std::string& digits, Millis history) {
  Claim claim{*LockName::from("k"), token(digits), *Ttl::from(Millis{1000}), OnBusy::give_up};
  claim.history = history;
  claim.waited = Millis{250};
  return claim;
}

Record open_run(const std::string& digits, std::int64_t created_by, std::int64_t created_ms,
                Millis history = Millis{10'000}) {
  return {text_of_run(0, claim(digits, history), 0), created_by, created_ms, created_ms};
}

Record ended_run(const std::string& digits, std::int64_t created_by, std::int64_t created_ms,
                 std::int64_t ended_ms, Millis history = Millis{10'000}) {
  Record record = open_run(digits, created_by, created_ms, history);
  record.text = text_of_ended(record.text, {{Kind::exited, 3}, "a reason"});
  record.written_ms = ended_ms;
  return record;
}

Parting parting(Parting::SlotEnd end, unsigned retries, RunOutcome outcome) {
  Parting parting{{}, Millis{1000}, RunEnd{outcome}};
  parting.slot = {{"s", retries}, 1, 0, end};
  return parting;
}

}  // namespace

TEST_CASE("a run has its times from its node, and its fence where both nodes were made at once") {
  const auto runs = runs_in({ended_run("a", 77, 1000, 4000)}, {}, {}, 5000);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].token == token("a"));
  CHECK(runs[0].fence == 77);
  CHECK(runs[0].granted_ago == Millis{4000});
  CHECK(runs[0].waited == Millis{250});
  CHECK(runs[0].held == Millis{3000});
  CHECK(runs[0].outcome == RunOutcome{Kind::exited, 3});
  CHECK(runs[0].why == "a reason");
  Record later = open_run("b", 77, 1000);
  later.text = text_of_run(5, claim("b", Millis{1000}), 2);
  const auto other = runs_in({later}, {token("b")}, {}, 5000);
  CHECK(other.at(0).fence == 5);
  CHECK(other.at(0).attempt == 2);
}

TEST_CASE("a run without an end goes on, is lost, or never was") {
  const std::vector<Record> one{open_run("a", 7, 1000)};
  CHECK(runs_in(one, {token("a")}, {}, 2000).at(0).outcome.kind == Kind::running);
  CHECK(runs_in(one, {token("b")}, {}, 2000).at(0).outcome.kind == Kind::lost);
  CHECK(runs_in(one, {}, {token("a")}, 2000).empty());
}

TEST_CASE("the newest first, and no more than are remembered") {
  std::vector<Record> records;
  for (int i = 1; i <= 60; ++i) records.push_back(ended_run("a", i * 37 % 61, 1000, 2000));
  const auto runs = runs_in(records, {}, {}, 3000);
  REQUIRE(runs.size() == most_runs);
  CHECK(runs.front().fence == 60);
  CHECK(runs.back().fence == 11);
}

TEST_CASE("what is older than its --history is left out, but not what goes on") {
  const Millis second{1000};
  const auto ended = ended_run("a", 1, 1000, 2000, second);
  CHECK(runs_in({ended}, {}, {}, 3000).size() == 1);
  CHECK(runs_in({ended}, {}, {}, 3001).empty());
  CHECK_FALSE(is_forgotten(ended, 3000));
  CHECK(is_forgotten(ended, 3001));
  const auto open = open_run("a", 1, 1000, second);
  CHECK(runs_in({open}, {token("a")}, {}, 1'000'000).size() == 1);
  CHECK_FALSE(is_forgotten(open, 1'000'000));
  // A lost one ended at some time before the next began; where none did, nobody knows.
  CHECK(runs_in({open}, {}, {}, 1'000'000).size() == 1);
  CHECK(runs_in({open, ended_run("b", 2, 5000, 6000)}, {}, {}, 6000).size() == 2);
  CHECK(runs_in({open, ended_run("b", 2, 5000, 6000)}, {}, {}, 6001).size() == 1);
}

TEST_CASE("texts that no rlock wrote are no runs, and later fields are passed over") {
  for (const char* text : {"", "x", "1\t2", "x\tt\t1\t0\t\t\t", "1\tt\t1\tx\t\t\t",
                           "1\tt\t1\t0\t\t\t\tvanished 0\t"}) {
    CAPTURE(text);
    CHECK(runs_in({{text, 1, 1000, 1000}}, {}, {}, 1000).empty());
  }
  Record record = ended_run("a", 1, 1000, 2000);
  record.text += "\tmore";
  CHECK(runs_in({record}, {}, {}, 2000).size() == 1);
}

TEST_CASE("names of runs are in the order of what their claims saw, and found by the token") {
  CHECK(run_node_of("/l/k", 255, token("0a")) == "/l/k/runs/00000000000000ff-0a");
  CHECK(run_node_of("/l/k", 9, token("ff")) < run_node_of("/l/k", 10, token("00")));
  CHECK(is_run_of("00000000000000ff-0a", token("0a")));
  CHECK_FALSE(is_run_of("00000000000000ff-0a", token("a")));
  CHECK_FALSE(is_run_of("00000000000000ff-0a", token("0b")));
  CHECK(slot_node_of("/l/k", *Slot::from("a/b", 0)) == "/l/k/slots/a%2Fb");
}

TEST_CASE("a slot is read as it was written") {
  SlotState state = begun({}, token("a"), Millis{5000});
  for (const auto kind : {SlotState::Kind::open, SlotState::Kind::running, SlotState::Kind::done}) {
    state.kind = kind;
    state.failures = 2;
    state.outcome = {Kind::signalled, 9};
    state.fence = 12;
    const auto read = slot_in(text_of_slot(state));
    CHECK(read.kind == kind);
    CHECK(read.attempt == 1);
    CHECK(read.failures == 2);
    CHECK(read.history == Millis{5000});
    CHECK(read.token == token("a"));
    CHECK(read.outcome == RunOutcome{Kind::signalled, 9});
    CHECK(read.fence == 12);
  }
  CHECK(slot_in("").kind == SlotState::Kind::none);
  CHECK(slot_in("done\t1\t0").kind == SlotState::Kind::none);
  CHECK(slot_in("shut\t1\t0\t1\tt\texited 0\t1").kind == SlotState::Kind::none);
  CHECK_FALSE(is_forgotten(state, 1000, 6000));
  CHECK(is_forgotten(state, 1000, 6001));
}

TEST_CASE("runs for a slot are counted, a grant that is given again is not") {
  const auto first = begun({}, token("a"), Millis{1000});
  CHECK(first.attempt == 1);
  CHECK(begun(first, token("a"), Millis{1000}).attempt == 1);
  CHECK(begun(first, token("b"), Millis{1000}).attempt == 2);
  CHECK(taken_back(first).kind == SlotState::Kind::none);
  const auto second = taken_back(begun(first, token("b"), Millis{1000}));
  CHECK(second.kind == SlotState::Kind::open);
  CHECK(second.attempt == 1);
}

TEST_CASE("a run that ended makes its slot done, or leaves it open") {
  using End = Parting::SlotEnd;
  const auto running = begun({}, token("a"), Millis{1000});
  const auto done = ended(running, parting(End::done, 0, {Kind::exited, 0}), 7);
  CHECK(done.kind == SlotState::Kind::done);
  CHECK(done.fence == 7);
  CHECK(done.outcome == RunOutcome{Kind::exited, 0});
  CHECK(ended(running, parting(End::open, 0, {Kind::signalled, 15}), 7).kind ==
        SlotState::Kind::open);
  const auto failed = ended(running, parting(End::failed, 1, {Kind::exited, 1}), 7);
  CHECK(failed.kind == SlotState::Kind::open);
  CHECK(failed.failures == 1);
  const auto again = begun(failed, token("b"), Millis{1000});
  const auto given_up = ended(again, parting(End::failed, 1, {Kind::exited, 1}), 8);
  CHECK(given_up.kind == SlotState::Kind::done);
  CHECK(given_up.outcome == RunOutcome{Kind::exited, 1});
}

}  // namespace unit::zookeeper_memory
