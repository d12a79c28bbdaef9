// The effect of a request on a lock, row by row: the state before, the request, the answer, the
// posts, and the state after. Time stands still in a row.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/result.hpp"
#include "store/rules/decide.hpp"
#include "store/rules/waiting.hpp"

namespace unit::rules_rows {
namespace {

using namespace store;
using namespace store::rules;
using Kind = RunOutcome::Kind;

constexpr std::uint64_t now_us = 1'795'000'000'000'000;
constexpr TimeMs now = now_us / 1000;
constexpr Facts facts{now_us};

const Mode alone{};
const Mode reader{Mode::Kind::shared};

// ---- a state, in few words
// ---------------------------------------------------------------------------------------

Token named(const std::string& name) {
  return Token::foreign(name);
}

/// Granted a second ago, for ten seconds.
Hold hold(const std::string& name) {
  return {named(name), now_us - 1'000'000, now + 10'000};
}
/// Came half a second ago, and lives.
Wait wait(const std::string& name, const Mode& mode = alone) {
  return {named(name), mode, now_us - 500'000, now + 20'000};
}
RememberedRun run(const std::string& name) {
  return {named(name), now_us - 1'000'000, now - 1'000};
}

LockState state(std::vector<Hold> holders, std::vector<Wait> queue = {}, const Mode& mode = alone) {
  LockState made;
  made.mode = mode;
  made.holders = std::move(holders);
  made.queue = std::move(queue);
  for (std::size_t i = 0; i < made.queue.size(); ++i) made.queue[i].ticket += i;
  if (!made.holders.empty()) {
    made.last_fence = made.holders.back().fence;
    made.last_token = made.holders.back().token;
    made.fence_ends = now + 90'000'000;
  }
  return made;
}

/// The same, and more.
template <typename Change>
LockState with(LockState made, const Change& change) {
  change(made);
  return made;
}

std::vector<Wait> crowd(int size) {
  std::vector<Wait> queue;
  queue.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) queue.push_back(wait(fmt::format("w{}", i)));
  return queue;
}

// ---- a request
// ---------------------------------------------------------------------------------------

Claim claim(const std::string& name, const Mode& mode = alone, OnBusy on_busy = OnBusy::queue) {
  Claim made{*LockName::from("k"), named(name), *Ttl::from(Millis{30'000}), on_busy};
  made.mode = mode;
  return made;
}
Claim superseding(const std::string& name) {
  Claim made = claim(name);
  made.supersede = "newer";
  return made;
}
Parting ended(Millis min_hold = {}) {
  Parting parting{min_hold, Millis{600'000}, RunEnd{{Kind::exited, 3}}};
  return parting;
}
Parting ended_for(Parting::SlotEnd end, unsigned attempt) {
  Parting parting = ended();
  parting.slot = {{"s", 1}, attempt, 0, end};
  return parting;
}

using Request = std::variant<Enter, Leave, Cancel, Refresh, ForceRelease, AskToStop>;

// ---- as text
// ---------------------------------------------------------------------------------------

std::string text_of(const Entered& entered) {
  return base::match(
      entered, [](const Grant&) { return std::string{"granted"}; },
      [](const Queued& place) {
        return fmt::format("queued {}, looks in {}", place.ahead,
                           place.look_in ? std::to_string(place.look_in->count()) : "-");
      },
      [](const Busy& busy) {
        return "busy" + (busy.holder ? ' ' + busy.holder->token + busy.holder->reason : "");
      },
      [](const ModeConflict&) { return std::string{"mismatch"}; },
      [](const SlotDone&) { return std::string{"done"}; },
      [](const NoHigherFence&) { return std::string{"no higher fence"}; });
}
std::string text_of(Own own) {
  return own == Own::ours ? "ours" : own == Own::nobodys ? "nobody's" : "elsewhere";
}
std::string text_of(const Removal& removal) {
  return std::holds_alternative<Removed>(removal) ? "removed" : "changed";
}
std::string text_of(std::size_t asked) {
  return std::to_string(asked);
}

std::string text_of(const std::vector<Post>& posts) {
  std::string text;
  for (const Post& each : posts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", each.to, each.message);
  return text;
}

std::string text_of(const LockState& state) {
  std::string text;
  for (const Hold& each : state.holders) text += each.token.text() + ' ';
  if (state.reservation) text += '(' + state.reservation->token.text() + ") ";
  text += '|';
  for (const Wait& each : state.queue) text += ' ' + each.token.text();
  return text;
}

struct Row {
  const char* what;
  LockState before;
  Request request;
  std::string answer;
  std::string posts;  // who is told what
  std::string after;  // those who hold the lock, (for whom it is reserved), and those who wait
};

/// The lock afterwards, for details that a row does not show.
LockState check(const Row& row) {
  CAPTURE(row.what);
  LockState state = row.before;
  std::visit(
      [&](const auto& request) {
        const auto decision = decide(state, request, facts);
        CHECK(text_of(decision.answer) == row.answer);
        CHECK(text_of(decision.posts) == row.posts);
      },
      row.request);
  CHECK(text_of(state) == row.after);
  return state;
}

}  // namespace

TEST_CASE("a token that wants the lock") {
  const auto reserved = [](LockState& made) {
    made.reservation = Reservation{named("b"), alone, now + 1'500};
  };
  const auto dead = [](LockState& made) { made.queue.front().believed = now; };
  const Row rows[] = {
      {"stands as a writer behind itself as a reader", state({hold("x")}, {wait("a", reader)}),
       Enter{claim("a")}, "queued 1, looks in 10100", "", "x | a a"},
      {"has the lock reserved as a writer, and wants to read",
       with(state({}, {wait("b")}), reserved), Enter{claim("b", reader)},
       "queued 1, looks in 20001", "", "(b) | b b"},
      {"comes back before the one that was woken", with(state({}, {wait("b")}), reserved),
       Enter{claim("a"), now_us - 700'000}, "queued 0, looks in 1500", "", "(b) | a b"},
      {"hears who has it, of whom nothing is remembered", state({hold("x")}),
       Enter{claim("a", alone, OnBusy::give_up)}, "busy x", "", "x |"},
      {"hears nothing of why a former holder had it",
       with(state({hold("x")}),
            [](LockState& made) {
              made.runs = {run("y")};
              made.runs[0].reason = " deploys";
              made.runs_end = now + 1'000;
            }),
       Enter{claim("a", alone, OnBusy::give_up)}, "busy x", "", "x |"},
      {"supersedes again: whoever came after its first try is spared, and the dead",
       with(state({hold("x")}, {wait("d"), wait("w")}), dead),
       Enter{superseding("a"), {}, Millis{2'000}}, "queued 1, looks in 10100", "w:next", "x | w a"},
      {"supersedes: all others are told, and the dead, which may only be slow",
       with(state({hold("x")}, {wait("d"), wait("w")}), dead), Enter{superseding("a")},
       "queued 0, looks in 10000", "w:stop - newer d:stop - newer x:stop - newer", "x | a"},
      {"supersedes, and stands before the others", state({hold("x")}, {wait("a"), wait("w")}),
       Enter{superseding("a")}, "queued 0, looks in 10000", "x:stop - newer", "x | a w"},
      {"supersedes, and is one of the dead itself",
       with(state({hold("x")}, {wait("a"), wait("w")}), dead), Enter{superseding("a")},
       "queued 0, looks in 10000", "w:stop - newer x:stop - newer", "x | a"},
      {"comes back, and only others were asked to stop",
       with(state({}),
            [](LockState& made) {
              made.letters = {{"b", "stop r why", now + 1}, {"a", "lost r who", now + 1}};
            }),
       Enter{claim("a"), now_us}, "granted", "", "a |"},
      {"comes back after it was asked to stop",
       with(state({}),
            [](LockState& made) {
              made.letters = {{"a", "stop r why", now + 1}};
            }),
       Enter{claim("a"), now_us}, "queued 0, looks in -", "", "|"},
      {"comes back after it was asked to stop, and another died",
       with(state({hold("x")}, {wait("d"), wait("w")}),
            [&](LockState& made) {
              dead(made);
              made.letters = {{"a", "stop r why", now + 1}};
            }),
       Enter{claim("a"), now_us}, "queued 1, looks in -", "w:next", "x | w"},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("a token that leaves") {
  const auto ending = [](const std::string& name, TimeMs left) {
    Hold made = hold(name);
    made.ends = now + left;
    return made;
  };
  const Row rows[] = {
      {"did not wait, and another has the lock", state({hold("x")}, {wait("b")}),
       Cancel{claim("a")}, "ours", "", "x | b"},
      {"waits as a reader, too", state({hold("x")}, {wait("a", reader), wait("a")}),
       Cancel{claim("a")}, "ours", "a:next", "x | a"},
      {"was the second, and the first lives", state({hold("x")}, {wait("b"), wait("c"), wait("d")}),
       Cancel{claim("c")}, "ours", "b:next", "x | b d"},
      {"was the last of many, and the first lives", state({hold("x")}, crowd(4)),
       Cancel{claim("w3")}, "ours", "", "x | w0 w1 w2"},
      {"was in the midst", state({hold("x")}, crowd(4)), Cancel{claim("w2")}, "ours", "",
       "x | w0 w1 w3"},
      {"was the last of those who read: the lock ends sooner",
       state({ending("a", 9'000), ending("b", 5'000)}, {wait("w"), wait("x")}, reader),
       Leave{named("a")}, "ours", "w:next x:next", "b | w x"},
      {"was not the last of those who read",
       state({ending("a", 5'000), ending("b", 9'000)}, {wait("w"), wait("x")}, reader),
       Leave{named("a")}, "ours", "w:next", "b | w x"},
      // The holder of most servers of a quorum may still wait at this one.
      {"releases, and was the first to wait behind readers",
       state({hold("x")}, {wait("a"), wait("b", reader), wait("c", reader)}, reader),
       Leave{named("a")}, "elsewhere", "c:next b:wake", "x | b c"},
      {"releases, and was a reader behind a writer",
       state({hold("x")}, {wait("b"), wait("a", reader), wait("c")}), Leave{named("a")},
       "elsewhere", "b:next", "x | b c"},
      {"releases a lock that was reserved for it as a reader",
       with(state({}, {wait("a", reader), wait("b")}),
            [](LockState& made) {
              made.reservation = Reservation{named("a"), reader, now + 1'000};
            }),
       Leave{named("a")}, "ours", "b:wake", "(b) | b"},
      {"releases a free lock for which others wait behind it",
       state({}, {wait("a", reader), wait("b")}), Leave{named("a")}, "nobody's", "b:wake",
       "(b) | b"},
      {"releases, and neither holds nor waits", state({}, {wait("b")}), Leave{named("a")},
       "nobody's", "", "| b"},
      {"keeps it for --min-hold, before a long queue", state({hold("a")}, crowd(12)),
       Leave{named("a"), ended(Millis{3'000})}, "ours",
       "w0:next w1:next w2:next w3:next w4:next w5:next w6:next w7:next w8:next w9:next",
       "a | w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11"},
      {"leaves a first waiter that holds it as well",
       state({hold("x")}, {wait("x", reader), wait("y")}), Cancel{claim("y")}, "ours", "x:next",
       "x | x"},
      {"leaves one whose job has ended",
       with(state({hold("x")}, {wait("x", reader), wait("y")}),
            [](LockState& made) { made.holders[0].kept = now + 1; }),
       Cancel{claim("y")}, "ours", "", "x | x"},
  };
  for (const Row& row : rows) check(row);
}

TEST_CASE("a roll call") {
  LockState many = state({}, crowd(70));
  for (Wait& each : many.queue) each.ticket = now_us - 1'000'000 + (each.ticket % 1'000);
  many.queue[3].believed = now + 500;  // sooner than it would have to come
  const LockState after = check({"of many: 63 behind the first", many, Cancel{claim("a")}, "ours",
                                 [] {
                                   std::string posts = "w1:next w69:next w0:wake";
                                   for (int i = 2; i < 64; ++i) {
                                     if (i != 3) posts += fmt::format(" w{}:next", i);
                                   }
                                   return posts;
                                 }(),
                                 [] {
                                   std::string text = "(w0) |";
                                   for (int i = 0; i < 70; ++i) text += fmt::format(" w{}", i);
                                   return text;
                                 }()});
  CHECK(after.queue[3].believed == now + 500);
  CHECK(after.queue[63].believed == now + 501);
  CHECK(after.queue[64].believed == now + 20'000);
}

TEST_CASE("the record of a run that leaves") {
  const auto remembering = [](std::vector<RememberedRun> runs) {
    return [runs = std::move(runs)](LockState& made) {
      made.runs = runs;
      made.runs_end = now + 1'000;
    };
  };
  RememberedRun of_slot = run("a");
  of_slot.attempt = 2;
  LockState after = check({"its run was for a slot, which its release does not say",
                           with(state({hold("a")}), remembering({of_slot})),
                           Leave{named("a"), ended()}, "ours", "", "|"});
  CHECK(after.runs[0].attempt == 2);
  CHECK(after.runs[0].end->outcome.number == 3);

  after = check({"it had the lock last, and that grant was not heard",
                 with(state({hold("a")}),
                      [&](LockState& made) {
                        remembering({run("a")})(made);
                        made.holders.clear();
                      }),
                 Cancel{claim("a")}, "ours", "", "|"});
  CHECK(after.runs.empty());

  after = check({"another had the lock last",
                 with(state({hold("b")}),
                      [&](LockState& made) {
                        remembering({run("b"), run("a")})(made);
                        made.holders.clear();
                      }),
                 Cancel{claim("a")}, "ours", "", "|"});
  CHECK(after.runs.size() == 2);

  Claim remembered = claim("a", reader);
  remembered.history = Millis{600'000};
  after = check({"a reader whose line is gone, that never was one", state({hold("a")}, {}, reader),
                 Cancel{remembered}, "ours", "", "|"});
  CHECK(after.runs.empty());

  std::vector<RememberedRun> others;
  for (std::size_t i = 0; i < remembered_runs; ++i) others.push_back(run(fmt::format("o{}", i)));
  after = check({"a reader whose line is gone behind fifty others",
                 with(state({hold("a")}, {}, reader), remembering(others)),
                 Leave{named("a"), ended()}, "ours", "", "|"});
  CHECK(after.runs.size() == remembered_runs);
  CHECK(after.runs.front().token == named("a"));
  CHECK(after.runs.back().token == named("o48"));
  CHECK(after.runs_end == now + 600'000);
}

TEST_CASE("the state of a slot at a server after each end of its run") {
  using End = Parting::SlotEnd;
  const auto slot_of = [](const LockState& made) {
    REQUIRE(made.slots.size() == 1);
    return made.slots[0].state;
  };
  LockState after = check({"one that lost its data", state({}),
                           Leave{named("a"), ended_for(End::failed, 2)}, "nobody's", "", "|"});
  CHECK(slot_of(after) == SlotState{SlotState::Kind::open, {2, 1}, "a"});

  const auto of_slot = [](unsigned attempt) {
    return [attempt](LockState& made) {
      made.slots = {{"s", {SlotState::Kind::running, {attempt, 0}, "x"}, now + 1'000}};
    };
  };
  const Parting late = [&] {
    Parting made = ended_for(End::failed, 2);
    made.fence = now_us - 5'000'000;
    return made;
  }();
  after = check({"one where a later run goes on, counted anew",
                 with(state({hold("x")}, {wait("w")}), of_slot(1)), Leave{named("a"), late},
                 "elsewhere", "", "x | w"});
  CHECK(slot_of(after) == SlotState{SlotState::Kind::running, {3, 1}, "x", "a"});
  Claim unheard = claim("x");
  unheard.slot = Slot{"s", 1};
  unheard.history = Millis{600'000};
  after = check({"one where a grant that was not heard is over",
                 with(state({hold("y")}), of_slot(2)), Cancel{unheard}, "ours", "", "y |"});
  CHECK(slot_of(after) == SlotState{SlotState::Kind::open, {1, 0}});

  // The end of a run of which the last grant says nothing.
  after = check({"one where an earlier run had no end", with(state({hold("y")}), of_slot(1)),
                 Leave{named("a"), late}, "elsewhere", "", "y |"});
  CHECK(slot_of(after) == SlotState{SlotState::Kind::open, {2, 1}, "a"});
}

TEST_CASE("holders, operators, and who is shown") {
  const auto reserved = [](LockState& made) {
    made.reservation = Reservation{named("b"), alone, now + 1'500};
  };
  const Row rows[] = {
      {"a refresh of one of whom nothing is remembered", state({hold("a")}),
       Refresh{named("a"), *Ttl::from(Millis{20'000})}, "ours", "", "a |"},
      {"a refresh that makes it shorter, before a long queue", state({hold("a")}, crowd(11)),
       Refresh{named("a"), *Ttl::from(Millis{1'000})}, "ours",
       "w0:next w1:next w2:next w3:next w4:next w5:next w6:next w7:next w8:next w9:next",
       "a | w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"},
      {"force-release of one that was shown before another was woken",
       with(state({}, {wait("b")}), reserved), ForceRelease{{named("c")}, "me", "r"}, "changed", "",
       "(b) | b"},
      {"force-release of one that was woken", with(state({}, {wait("b")}), reserved),
       ForceRelease{{named("c"), named("b")}, "me", "r"}, "removed", "b:lost r me", "|"},
  };
  for (const Row& row : rows) check(row);

  Wait dead = wait("d");
  dead.believed = now;
  const LockState several = state({hold("a"), hold("b")}, {dead, wait("w")}, reader);
  const auto shown = report(*LockName::from("k"), several, facts);
  CHECK(shown.holders.size() == 2);
  CHECK(shown.holders[0].holder.reason.empty());
  REQUIRE(shown.waiters.size() == 1);  // nobody writes for a report: the dead one is still there
  CHECK(shown.waiters[0].token == named("w"));
}

}  // namespace unit::rules_rows
