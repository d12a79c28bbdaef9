// Runs and slots in the texts of nodes.
#include <doctest/doctest.h>

#include <algorithm>

#include "store/rules/runs.hpp"
#include "store/sessions/memory.hpp"

namespace unit::sessions_memory {
namespace {

using namespace store;
using namespace store::sessions;
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

Node open_run(const std::string& digits, std::uint64_t created_by, std::int64_t created_ms,
              Millis history = Millis{10'000}) {
  return {text_of_run(0, claim(digits, history), 0), {created_by, created_ms, created_ms}};
}

Node ended_run(const std::string& digits, std::uint64_t created_by, std::int64_t created_ms,
               std::int64_t ended_ms, Millis history = Millis{10'000}) {
  Node record = open_run(digits, created_by, created_ms, history);
  record.text = text_of_ended(record.text, {{Kind::exited, 3}, "a reason"});
  record.stat.written_ms = ended_ms;
  return record;
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
  Node later = open_run("b", 77, 1000);
  later.text = text_of_run(5, claim("b", Millis{1000}), 2);
  const auto other = runs_in({later}, {token("b")}, {}, 5000);
  CHECK(other.at(0).fence == 5);
  CHECK(other.at(0).attempt == 2);
}

TEST_CASE("a run without an end goes on, is lost, or never was") {
  const std::vector<Node> one{open_run("a", 7, 1000)};
  CHECK(runs_in(one, {token("a")}, {}, 2000).at(0).outcome.kind == Kind::running);
  CHECK(runs_in(one, {token("b")}, {}, 2000).at(0).outcome.kind == Kind::lost);
  CHECK(runs_in(one, {}, {token("a")}, 2000).empty());
}

TEST_CASE("the newest first, and no more than are remembered") {
  std::vector<Node> records;
  for (int i = 1; i <= 60; ++i)
    records.push_back(ended_run("a", static_cast<std::uint64_t>(i * 37 % 61), 1000, 2000));
  const auto runs = runs_in(records, {}, {}, 3000);
  REQUIRE(runs.size() == rules::remembered_runs);
  CHECK(runs.front().fence == 60);
  CHECK(runs.back().fence == 11);
}

TEST_CASE("a run older than its --history is left out, unless it is still running") {
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
  Node record = ended_run("a", 1, 1000, 2000);
  record.text += "\tmore";
  CHECK(runs_in({record}, {}, {}, 2000).size() == 1);
}

TEST_CASE("names of runs are in the order of what their claims saw, and found by the token") {
  CHECK(run_node_of("/l/k/runs", 255, token("0a")) == "/l/k/runs/00000000000000ff-0a");
  CHECK(run_node_of("/l/k/runs", 9, token("ff")) < run_node_of("/l/k/runs", 10, token("00")));
  CHECK(is_run_of("00000000000000ff-0a", token("0a")));
  CHECK_FALSE(is_run_of("00000000000000ff-0a", token("a")));
  CHECK_FALSE(is_run_of("00000000000000ff-0a", token("0b")));
  CHECK(slot_node_of("/l/k/slots", *Slot::from("a/b", 0)) == "/l/k/slots/a%2Fb");
}

TEST_CASE("a slot is read as it was written") {
  using State = rules::SlotState::Kind;
  const auto read_back = [](const rules::SlotState& state) {
    const auto read = slot_in(text_of_slot({state, Millis{5000}}));
    return read.state == state && read.history == Millis{5000};
  };
  CHECK(read_back({State::done, {2, 1}, "u#1", "", {Kind::signalled, 9}, 12}));
  CHECK(read_back({State::running, {2, 1}, "u#2", "u#1"}));
  CHECK(read_back({State::running, {2, 1}, "u#1"}));
  CHECK(read_back({State::open, {2, 1}, "u#1"}));
  CHECK(read_back({State::open, {2, 1}}));
  for (const char* text : {"", "done\t1\t0", "shut\t1\t0\t1\tt\texited 0\t1",
                           "open\tx\t0\t1\tt\texited 0\t1", "open\t1\tx\t1\tt\texited 0\t1",
                           "open\t1\t0\t1\tt\tvanished 0\t1", "open\t1\t0\t1\tt\texited 0\tx"}) {
    CAPTURE(text);
    CHECK(slot_in(text).state.kind == State::none);
  }
}

TEST_CASE(
    "a slot's text is as the version before wrote it, and what that one reads of ours is right") {
  using State = rules::SlotState::Kind;
  const rules::SlotState done{State::done, {2, 1}, "u#1", "", {Kind::exited, 3}, 12};
  CHECK(text_of_slot({done, Millis{9}}) == "done\t2\t1\t9\tu#1\texited 3\t12");
  // Of seven fields, whatever stands behind them; how a run ended that is none counts for nothing.
  const rules::SlotState running{State::running, {2, 1}, "u#2", "u#1"};
  CHECK(text_of_slot({running, Millis{9}}) == "running\t2\t1\t9\tu#2\trunning 0\t0\tu#1");
  // The version before left the last outcome in a slot that is open.
  CHECK(slot_in("open\t2\t1\t9\tu#1\treleased 0\t7").state ==
        rules::SlotState{State::open, {2, 1}, "u#1"});
}

TEST_CASE("a slot is forgotten after its --history, one that goes on after a day at the earliest") {
  using State = rules::SlotState::Kind;
  const SlotRecord open{{State::open, {1, 0}, "u#1"}, Millis{5000}};
  CHECK_FALSE(is_forgotten(open, 1000, 6000));
  CHECK(is_forgotten(open, 1000, 6001));
  const SlotRecord running{{State::running, {1, 0}, "u#1"}, Millis{5000}};
  CHECK_FALSE(is_forgotten(running, 1000, 86'401'000));
  CHECK(is_forgotten(running, 1000, 86'401'001));
}

}  // namespace unit::sessions_memory
