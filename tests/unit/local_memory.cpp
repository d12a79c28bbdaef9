// What a directory remembers of a lock: its records, whatever was written of them.
#include "store/local/memory.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <fstream>

#include "os/file.hpp"
#include "temporary_directory.hpp"

namespace unit::local_memory {

namespace {

using namespace store::local;
using store::Claim;
using store::Millis;
using store::RunOutcome;
using store::Slot;
using store::Token;
using store::rules::SlotState;
using State = SlotState::Kind;
using Kind = RunOutcome::Kind;

struct Directory : TemporaryDirectory {
  [[nodiscard]] Memory memory() const {
    return Memory{*os::Directory::open(path, os::Missing::give_up)};
  }
  [[nodiscard]] std::string file(const std::string& name) const { return *this / name; }
};

Claim claim(const std::string& token, Millis history = Millis{60'000}) {
  Claim claim{*store::LockName::from("k"), Token::foreign(token), *store::Ttl::from(Millis{30'000}),
              store::OnBusy::give_up};
  claim.history = history;
  return claim;
}

const store::RunEnd good{{Kind::exited, 0}};
const SlotState begun{State::running, {1, 0}, "t"};

/// A run from its grant to its end.
void run(const Memory& memory, store::Fence fence, int code = 0) {
  const auto token = "t" + std::to_string(fence);
  memory.begin_run(claim(token), fence, 0, {});
  memory.end_run(Token::foreign(token), {{Kind::exited, code}}, Millis{60'000});
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

TEST_CASE("runs are told the newest first, with how they ended") {
  const Directory directory;
  const auto memory = directory.memory();
  CHECK(memory.runs({}).empty());
  run(memory, 10, 3);
  memory.begin_run(claim("lost"), 11, 0, {});
  auto third = claim("third");
  third.slot = Slot{"today", 0};
  third.waited = Millis{700};
  memory.begin_run(third, 12, 2, {});
  const auto runs = memory.runs({"third"});
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].outcome == RunOutcome{Kind::running});
  CHECK(runs[0].slot == "today");
  CHECK(runs[0].attempt == 2);
  CHECK(runs[0].waited == Millis{700});
  CHECK(runs[0].fence == 12);
  CHECK(runs[1].outcome == RunOutcome{Kind::lost});
  CHECK(runs[1].token.text() == "lost");
  CHECK(runs[2].outcome == RunOutcome{Kind::exited, 3});
  CHECK(memory.runs({})[0].outcome == RunOutcome{Kind::lost});
}

TEST_CASE("an end is written once, and what never was leaves no run") {
  const Directory directory;
  const auto memory = directory.memory();
  run(memory, 10, 3);
  memory.end_run(Token::foreign("t10"), good, Millis{0});
  CHECK(memory.runs({})[0].outcome == RunOutcome{Kind::exited, 3});
  memory.begin_run(claim("none"), 11, 0, {});
  memory.erase_run(Token::foreign("none"));
  CHECK(memory.runs({}).size() == 1);
  run(memory, 12);
  CHECK(memory.runs({}).size() == 2);
  CHECK(std::filesystem::file_size(directory.file("runs")) == 2 * record_length);
}

TEST_CASE("fifty runs are remembered, in a file that does not grow") {
  const Directory directory;
  const auto memory = directory.memory();
  for (store::Fence fence = 1; fence <= 60; ++fence) run(memory, fence);
  const auto runs = memory.runs({});
  REQUIRE(runs.size() == 50);
  CHECK(runs.front().fence == 60);
  CHECK(runs.back().fence == 11);
  CHECK(std::filesystem::file_size(directory.file("runs")) == 50 * record_length);
}

TEST_CASE("a history of nothing is not remembered, and leaves what is") {
  const Directory directory;
  const auto memory = directory.memory();
  memory.begin_run(claim("t", Millis{0}), 1, 0, {});
  CHECK_FALSE(std::filesystem::exists(directory.file("runs")));
  run(memory, 2);
  memory.begin_run(claim("t", Millis{0}), 3, 0, {});
  CHECK(memory.runs({}).size() == 1);
}

TEST_CASE("runs are forgotten when nothing has been heard of the last for its history") {
  const Directory directory;
  const auto memory = directory.memory();
  CHECK(memory.is_over());
  run(memory, 1);
  memory.begin_run(claim("long"), 2, 0, {});
  make_older(directory.file("runs"), std::chrono::seconds{50});
  CHECK(memory.runs({}).size() == 2);
  CHECK_FALSE(memory.is_over());
  make_older(directory.file("runs"), std::chrono::seconds{20});
  CHECK(memory.runs({}).empty());
  CHECK(memory.is_over());
  CHECK(memory.runs({"long"}).size() == 2);
  memory.touch_runs();
  CHECK(memory.runs({}).size() == 2);
  make_older(directory.file("runs"), std::chrono::seconds{70});
  SUBCASE("the next one begins anew") {
    run(memory, 3);
    CHECK(memory.runs({}).size() == 1);
  }
  SUBCASE("unless one of them goes on") {
    memory.begin_run(claim("t3"), 3, 0, {"long"});
    CHECK(memory.runs({}).size() == 3);
  }
}

TEST_CASE("a file of runs is read wherever its writing stopped") {
  const Directory directory;
  const auto memory = directory.memory();
  const auto file = directory.file("runs");
  run(memory, 1, 7);
  const auto one = *os::contents_of(file);
  memory.begin_run(claim("t2"), 2, 0, {});
  const auto two = *os::contents_of(file);
  memory.end_run(Token::foreign("t2"), good, Millis{60'000});
  const auto ended = *os::contents_of(file);
  for (std::size_t written = 0; written <= record_length; written += written < 128 ? 1 : 64) {
    CAPTURE(written);
    overwrite(file, two.substr(0, record_length + written));
    auto runs = memory.runs({});
    CHECK(runs.size() == (written == record_length ? 2 : 1));
    CHECK(runs.back().outcome == RunOutcome{Kind::exited, 7});
    overwrite(file, ended.substr(0, record_length + written) + two.substr(record_length + written));
    runs = memory.runs({});
    REQUIRE_FALSE(runs.empty());
    CHECK(runs.back().outcome == RunOutcome{Kind::exited, 7});
    // And the next one is remembered.
    run(memory, 3, 9);
    CHECK(memory.runs({}).front().outcome == RunOutcome{Kind::exited, 9});
  }
  overwrite(file, "garbage");
  CHECK(memory.runs({}).empty());
  run(memory, 4);
  CHECK(memory.runs({}).size() == 1);
  overwrite(file, std::string((std::size_t{1} << 20) + 1, 'x'));
  CHECK(memory.runs({}).empty());
  run(memory, 5);
  CHECK(memory.runs({}).size() == 1);
}

TEST_CASE("what is no file is nothing that is remembered, and holds up nobody") {
  const Directory directory;
  const auto memory = directory.memory();
  const auto elsewhere = directory.file("elsewhere");
  overwrite(elsewhere, "precious");
  for (const std::string name : {"runs", "slots"}) {
    std::filesystem::create_symlink(elsewhere, directory.file(name));
  }
  run(memory, 1);
  CHECK(memory.runs({}).empty());
  CHECK_FALSE(memory.slot("s"));
  CHECK_FALSE(memory.write_slot("s", begun, Millis{60'000}));
  CHECK(*os::contents_of(elsewhere) == "precious");
  for (const std::string name : {"runs", "slots"}) {
    std::filesystem::remove(directory.file(name));
    REQUIRE(::mkfifo(directory.file(name).c_str(), 0600) == 0);
  }
  run(memory, 1);
  CHECK(memory.runs({}).empty());
  CHECK_FALSE(memory.slot("s"));
}

TEST_CASE("a slot is read back as it was written, in every state") {
  const auto read_back = [](const SlotState& state) {
    const SlotRecord slot{"s p a c e", 9'000, state};
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
  // Whatever stands behind these fields, it passes over.
  CHECK(text_of(SlotRecord{"s", 9, {State::running, {2, 1}, "b", "a"}}) ==
        "s\t9\trunning\t2\t1\tb\ta");
  CHECK(text_of(SlotRecord{"s", 9, {State::open, {2, 1}}}) == "s\t9\topen\t2\t1\t");
  CHECK(text_of(SlotRecord{"s", 9, {State::done, {2, 1}, "b", "", {Kind::signalled, 9}, 7, 5}}) ==
        "s\t9\tdone\t2\t1\tb\tsignalled 9\t5\t7");
}

TEST_CASE("slots are kept apart, forgotten in time, and their places used again") {
  const Directory directory;
  const auto memory = directory.memory();
  const Millis long_enough{60'000};
  const SlotState done{State::done, {1, 0}, "t", "", {Kind::exited, 0}, 1, 1};
  CHECK(memory.slot("a")->kind == State::none);
  REQUIRE(memory.write_slot("a", begun, long_enough));
  REQUIRE(memory.write_slot("ab", done, Millis{-1}));
  CHECK(*memory.slot("a") == begun);
  CHECK(memory.slot("ab")->kind == State::none);
  CHECK(memory.slot("b")->kind == State::none);
  REQUIRE(memory.write_slot("b", {State::open, {2, 0}}, long_enough));
  CHECK(std::filesystem::file_size(directory.file("slots")) == 2 * record_length);
  CHECK(memory.slot("b")->runs.attempt == 2);
  CHECK_FALSE(memory.is_over());
  REQUIRE(memory.write_slot("a", {}, long_enough));
  REQUIRE(memory.write_slot("b", {}, long_enough));
  REQUIRE(memory.write_slot("c", {}, long_enough));  // none, as it was
  CHECK(memory.slot("a")->kind == State::none);
  CHECK(memory.is_over());
  memory.remove();
  CHECK_FALSE(std::filesystem::exists(directory.file("slots")));
}

TEST_CASE("a run that takes longer than it is to be remembered is still one of the slot") {
  const Directory directory;
  const auto memory = directory.memory();
  REQUIRE(memory.write_slot("c", begun, Millis{0}));
  CHECK(*memory.slot("c") == begun);
  REQUIRE(memory.write_slot("c", {State::open, {1, 0}}, Millis{0}));
  CHECK(memory.slot("c")->kind == State::none);
}

TEST_CASE("on a full disk a run has begun nowhere, and a slot says so") {
  const Memory memory{os::Directory{}};
  run(memory, 1);
  CHECK(memory.runs({}).empty());
  CHECK(memory.slot("s")->kind == State::none);
  CHECK_FALSE(memory.write_slot("s", begun, Millis{60'000}));
}

}  // namespace unit::local_memory
