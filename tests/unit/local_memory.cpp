// A directory's record of a lock's runs, however much of it was written.
#include "store/local/memory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <fstream>

#include "os/file.hpp"
#include "store/rules/runs.hpp"
#include "temporary_directory.hpp"

namespace unit::local_memory {

namespace {

using namespace store::local;
using store::Millis;
using store::RunOutcome;
using store::Token;
using store::rules::LockState;
using store::rules::RememberedRun;
using store::rules::RememberedSlot;
using store::rules::SlotState;
using State = SlotState::Kind;
using Kind = RunOutcome::Kind;

struct Directory : TemporaryDirectory {
  [[nodiscard]] Memory memory() const {
    return Memory{*os::Directory::open(path, os::Missing::give_up)};
  }
  [[nodiscard]] std::string file(const std::string& name) const { return *this / name; }
};

constexpr Millis a_minute{60'000};
const SlotState begun{State::running, {1, 0}, "t"};

/// The recorded runs while those tokens hold the lock.
LockState remembered(const Memory& memory, const std::vector<std::string>& holders = {}) {
  LockState state;
  for (const auto& each : holders) state.holders.push_back({Token::foreign(each), 1, 1});
  for (const auto& each : memory.runs(state.holders, store::rules::remembered_runs)) {
    state.runs.push_back(*each.run);
    state.runs_end = wall_now() + a_minute.count();
  }
  return state;
}

std::vector<RememberedRun> runs(const Memory& memory,
                                const std::vector<std::string>& holders = {}) {
  return remembered(memory, holders).runs;
}

RememberedRun begun_run(const std::string& token, store::Fence fence) {
  return {Token::foreign(token), fence, wall_now()};
}

/// One more has begun, while those hold the lock.
void begin(const Memory& memory, const RememberedRun& run,
           const std::vector<std::string>& holders = {}, Millis history = a_minute) {
  const auto before = remembered(memory, holders);
  auto after = before;
  after.runs.insert(after.runs.begin(), run);
  if (after.runs.size() > store::rules::remembered_runs) after.runs.pop_back();
  after.runs_end = wall_now() + history.count();
  memory.write_runs(memory.runs(before.holders, 50), before, after);
}

/// That one has ended.
void end(const Memory& memory, const std::string& token, RunOutcome outcome,
         const std::string& why = {}) {
  const auto before = remembered(memory, {token});
  auto after = before;
  for (auto& each : after.runs) {
    if (each.token.text() == token) each.end = {each.granted + 5, outcome, why};
  }
  memory.write_runs(memory.runs(before.holders, 50), before, after);
}

/// A run from its grant to its end.
void run(const Memory& memory, store::Fence fence, int code = 0) {
  const auto token = "t" + std::to_string(fence);
  begin(memory, begun_run(token, fence));
  end(memory, token, {Kind::exited, code});
}

RunOutcome outcome_of(const RememberedRun& run) {
  return run.end ? run.end->outcome : RunOutcome{Kind::running};
}

void overwrite(const std::string& file, const std::string& text) {
  std::ofstream{file, std::ios::binary} << text;
}

void make_older(const std::string& file, std::chrono::seconds by) {
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - by);
}

}  // namespace

TEST_CASE("a record is read as it was written, and not at all where the writing stopped") {
  const auto before = record_of("before\tit");
  const auto after = record_of("after, and longer\tthan that");
  CHECK(before.size() == record_length);
  CHECK(text_in(before) == "before\tit");
  CHECK(text_in(record_of("ends with blanks  ")) == "ends with blanks  ");
  CHECK_FALSE(text_in(record_of("")));
  CHECK_FALSE(text_in(""));
  for (std::size_t written = 0; written <= record_length; ++written) {
    CAPTURE(written);
    const auto over = after.substr(0, written) + before.substr(written);
    const auto text = text_in(over);
    CHECK((!text || *text == "before\tit" || *text == "after, and longer\tthan that"));
    const auto in_place_of_zeros =
        after.substr(0, written) + std::string(record_length - written, '\0');
    const auto found = text_in(in_place_of_zeros);
    CHECK((!found || *found == "after, and longer\tthan that"));
  }
  CHECK(text_in(record_of(std::string(5'000, 'x')))->size() > 900);
  CHECK(record_of(std::string(5'000, 'x')).size() == record_length);
  CHECK(text_in(record_of("one\ntwo")) == "one");
}

TEST_CASE("a run is read back as it was written, the newest first") {
  const Directory directory;
  const auto memory = directory.memory();
  CHECK(runs(memory).empty());
  run(memory, 10, 3);
  begin(memory, begun_run("second", 11));
  auto third = begun_run("third", 12);
  third.slot = "today";
  third.attempt = 2;
  third.waited = Millis{700};
  third.reason = "the nightly";
  begin(memory, third);
  end(memory, "second", {Kind::signalled, 9}, "killed by ann");
  const auto all = runs(memory);
  REQUIRE(all.size() == 3);
  CHECK(all[0] == third);
  CHECK(outcome_of(all[1]) == RunOutcome{Kind::signalled, 9});
  CHECK(all[1].end->why == "killed by ann");
  CHECK(all[1].end->at == all[1].granted + 5);
  CHECK(outcome_of(all[2]) == RunOutcome{Kind::exited, 3});
  end(memory, "third", {Kind::exited, 0});
  CHECK(runs(memory)[0].reason == "the nightly");
  CHECK(runs(memory)[0].slot == "today");
}

TEST_CASE("a run that never was frees its place for the next one") {
  const Directory directory;
  const auto memory = directory.memory();
  run(memory, 10, 3);
  begin(memory, begun_run("none", 11));
  const auto before = remembered(memory, {"none"});
  auto after = before;
  after.runs.erase(after.runs.begin());
  memory.write_runs(memory.runs(before.holders, 50), before, after);
  CHECK(runs(memory).size() == 1);
  run(memory, 12);
  CHECK(runs(memory).size() == 2);
  CHECK(std::filesystem::file_size(directory.file("runs")) == 2 * record_length);
}

TEST_CASE("a run with a start in the future is matched after a clock step") {
  const Directory directory;
  const auto memory = directory.memory();
  auto ahead = begun_run("t1", 1);
  ahead.granted += 3'600'000;
  begin(memory, ahead);
  CHECK(runs(memory).front() == ahead);
  end(memory, "t1", {Kind::exited, 0});
  CHECK(runs(memory).size() == 1);
  CHECK(outcome_of(runs(memory).front()) == RunOutcome{Kind::exited, 0});
}

TEST_CASE("fifty runs are remembered, in a file that does not grow") {
  const Directory directory;
  const auto memory = directory.memory();
  for (store::Fence fence = 1; fence <= 60; ++fence) run(memory, fence);
  const auto all = runs(memory);
  REQUIRE(all.size() == 50);
  CHECK(all.front().fence == 60);
  CHECK(all.back().fence == 11);
  CHECK(std::filesystem::file_size(directory.file("runs")) == 50 * record_length);
}

TEST_CASE("a process that has read only the newest runs replaces the oldest") {
  const Directory directory;
  const auto memory = directory.memory();
  for (store::Fence fence = 1; fence <= 50; ++fence) run(memory, fence);
  const auto found = memory.runs({{Token::foreign("t7"), 7, 1}}, 3);
  REQUIRE(found.size() == 50);
  LockState before;
  for (const auto& each : found) {
    if (each.run) before.runs.push_back(*each.run);
  }
  CHECK(before.runs.size() == 4);  // and that of the holder
  CHECK(before.runs.back().fence == 7);
  auto after = before;
  after.runs.insert(after.runs.begin(), begun_run("t51", 51));
  after.runs.back().end->outcome = {Kind::signalled, 9};
  after.runs_end = wall_now() + a_minute.count();
  memory.write_runs(found, before, after);
  const auto all = runs(memory);
  REQUIRE(all.size() == 50);
  CHECK(all.front().fence == 51);
  CHECK(all.back().fence == 2);
  CHECK(outcome_of(all[44]) == RunOutcome{Kind::signalled, 9});
}

TEST_CASE("runs are forgotten when nothing has been heard of the last for its history") {
  const Directory directory;
  const auto memory = directory.memory();
  CHECK(memory.is_over());
  run(memory, 1);
  begin(memory, begun_run("long", 2));
  make_older(directory.file("runs"), std::chrono::seconds{50});
  CHECK(runs(memory).size() == 2);
  CHECK_FALSE(memory.is_over());
  make_older(directory.file("runs"), std::chrono::seconds{20});
  CHECK(runs(memory).empty());
  CHECK(memory.is_over());
  CHECK(runs(memory, {"long"}).size() == 2);
  memory.touch_runs();
  CHECK(runs(memory).size() == 2);
  make_older(directory.file("runs"), std::chrono::seconds{70});
  SUBCASE("the next one begins anew") {
    run(memory, 3);
    CHECK(runs(memory).size() == 1);
  }
  SUBCASE("unless one of them goes on") {
    begin(memory, begun_run("t3", 3), {"long"});
    CHECK(runs(memory).size() == 3);
  }
}

TEST_CASE("a file of runs is read wherever its writing stopped") {
  const Directory directory;
  const auto memory = directory.memory();
  const auto file = directory.file("runs");
  run(memory, 1, 7);
  const auto one = *os::contents_of(file);
  begin(memory, begun_run("t2", 2));
  const auto two = *os::contents_of(file);
  end(memory, "t2", {Kind::exited, 0});
  const auto ended = *os::contents_of(file);
  for (std::size_t written = 0; written <= record_length; written += written < 128 ? 1 : 64) {
    CAPTURE(written);
    overwrite(file, two.substr(0, record_length + written));
    auto all = runs(memory);
    CHECK(all.size() == (written == record_length ? 2 : 1));
    CHECK(outcome_of(all.back()) == RunOutcome{Kind::exited, 7});
    overwrite(file, ended.substr(0, record_length + written) + two.substr(record_length + written));
    all = runs(memory);
    REQUIRE_FALSE(all.empty());
    CHECK(outcome_of(all.back()) == RunOutcome{Kind::exited, 7});
    // And the next one is remembered.
    run(memory, 3, 9);
    CHECK(outcome_of(runs(memory).front()) == RunOutcome{Kind::exited, 9});
  }
  overwrite(file, "garbage");
  CHECK(runs(memory).empty());
  run(memory, 4);
  CHECK(runs(memory).size() == 1);
  overwrite(file, std::string((std::size_t{1} << 20) + 1, 'x'));
  CHECK(runs(memory).empty());
  run(memory, 5);
  CHECK(runs(memory).size() == 1);
}

TEST_CASE("a record that is not a file counts as none, and does not block") {
  const Directory directory;
  const auto memory = directory.memory();
  const auto elsewhere = directory.file("elsewhere");
  overwrite(elsewhere, "precious");
  for (const std::string name : {"runs", "slots"}) {
    std::filesystem::create_symlink(elsewhere, directory.file(name));
  }
  run(memory, 1);
  CHECK(runs(memory).empty());
  CHECK_FALSE(memory.slot("s"));
  CHECK_FALSE(memory.write_slot({"s", begun, 9}));
  CHECK(*os::contents_of(elsewhere) == "precious");
  for (const std::string name : {"runs", "slots"}) {
    std::filesystem::remove(directory.file(name));
    REQUIRE(::mkfifo(directory.file(name).c_str(), 0600) == 0);
  }
  run(memory, 1);
  CHECK(runs(memory).empty());
  CHECK_FALSE(memory.slot("s"));
}

TEST_CASE("a slot is read back as it was written, in every state") {
  const auto read_back = [](const SlotState& state) {
    const RememberedSlot slot{"s p a c e", state, 9'000};
    return slot_in(text_of(slot)) == slot;
  };
  CHECK(read_back({State::done, {2, 1}, "u@h:1/x#1", "", {Kind::exited, 3}, 77, 5'000}));
  CHECK(read_back({State::running, {2, 1}, "u@h:1/x#1"}));
  CHECK(read_back({State::running, {2, 1}, "u@h:1/x#2", "u@h:1/x#1"}));
  CHECK(read_back({State::open, {2, 1}, "u@h:1/x#1"}));
  CHECK(read_back({State::open, {2, 1}}));
  for (const char* broken :
       {"", "s", "s\t1\tgone\t1\t0\tt", "s\tx\topen\t1\t0\t", "s\t1\topen\t1\tx\t",
        "s\t1\topen\t-1\t0\t", "s\t1\tdone\t1\t0\tt", "s\t1\tdone\t1\t0\tt\tvanished 0\t1\t1",
        "s\t1\tdone\t1\t0\tt\texited 0\tx\t1", "s\t1\tdone\t1\t0\tt\texited 0\t1\tx"}) {
    CAPTURE(broken);
    CHECK_FALSE(slot_in(broken));
  }
}

TEST_CASE(
    "a slot's text is as the version before wrote it, and what that one reads of ours is right") {
  // It ignores anything after these fields.
  CHECK(text_of(RememberedSlot{"s", {State::running, {2, 1}, "b", "a"}, 9}) ==
        "s\t9\trunning\t2\t1\tb\ta");
  CHECK(text_of(RememberedSlot{"s", {State::open, {2, 1}}, 9}) == "s\t9\topen\t2\t1\t");
  CHECK(
      text_of(RememberedSlot{"s", {State::done, {2, 1}, "b", "", {Kind::signalled, 9}, 7, 5}, 9}) ==
      "s\t9\tdone\t2\t1\tb\tsignalled 9\t5\t7");
}

TEST_CASE("slots are kept apart, forgotten in time, and their places used again") {
  const Directory directory;
  const auto memory = directory.memory();
  const auto until = wall_now() + a_minute.count();
  const SlotState done{State::done, {1, 0}, "t", "", {Kind::exited, 0}, 1, 1};
  CHECK_FALSE(*memory.slot("a"));
  const RememberedSlot first{"a", begun, until};
  REQUIRE(memory.write_slot(first));
  REQUIRE(memory.write_slot({"ab", done, wall_now() - 1}));
  CHECK(*memory.slot("a") == first);
  CHECK_FALSE(*memory.slot("ab"));
  CHECK_FALSE(*memory.slot("b"));
  REQUIRE(memory.write_slot({"b", {State::open, {2, 0}}, until}));
  CHECK(std::filesystem::file_size(directory.file("slots")) == 2 * record_length);
  CHECK((*memory.slot("b"))->state.runs.attempt == 2);
  CHECK_FALSE(memory.is_over());
  REQUIRE(memory.erase_slot("a"));
  REQUIRE(memory.erase_slot("b"));
  REQUIRE(memory.erase_slot("c"));  // there was none
  CHECK_FALSE(*memory.slot("a"));
  CHECK(memory.is_over());
  memory.remove();
  CHECK_FALSE(std::filesystem::exists(directory.file("slots")));
}

TEST_CASE("on a full disk a run has begun nowhere, and a slot says so") {
  const Memory memory{os::Directory{}};
  run(memory, 1);
  CHECK(runs(memory).empty());
  CHECK(memory.slot("s")->has_value() == false);
  CHECK_FALSE(memory.write_slot({"s", begun, 9}));
}

}  // namespace unit::local_memory
